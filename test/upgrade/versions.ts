import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const root = join(import.meta.dirname, '..', '..')

/**
 * The packed library as it is; the version that brings format 2, which reads it and still writes format 1; and the one
 * after that, which writes it. The last two are the first with changes to what was packed.
 */
export const versions = ['present', 'next', 'later'] as const
export type Version = (typeof versions)[number]

interface Script {
  readonly sha1: string
  readonly source: string
}

/** By script module: which of its scripts see stored values, and where such a script writes one. */
const scripts = [
  { module: 'stores/redis', has: 'unpack_state', write: "if name == 'SET' then w[2] = number .. w[2] end" },
  { module: 'egress/booking', has: 'HGET', write: "if name == 'HSET' and w[2] == 'm' then w[3] = number .. w[3] end" },
  {
    module: 'presence',
    has: 'KEYS[2]',
    write: "if name == 'HSET' and w[1] == KEYS[1] then w[3] = number .. w[3] end",
  },
]

/** In the place of `redis.call`: removes the number from what is read, and with `write` adds it to what is stored. */
const translating = (write: string): string => `local number = string.char(193, 2)
local function plain(value)
if type(value) == 'table' then for i = 1, #value do value[i] = plain(value[i]) end end
if type(value) == 'string' and string.sub(value, 1, 2) == number then return string.sub(value, 3) end
return value
end
local function call(name, ...)
local w = { ... }
${write}
return plain(redis.call(name, unpack(w)))
end`

/** Makes a folder in which `import 'sluice'` is a version of the library. `unpacked` is the present one. */
export async function installVersion(version: Version, unpacked: string, folder: string): Promise<string> {
  const modules = join(folder, version, 'node_modules')
  mkdirSync(modules, { recursive: true })
  cpSync(unpacked, join(modules, 'sluice'), { recursive: true, filter: (path) => !path.endsWith('.d.ts') })
  for (const name of ['ioredis', 'undici', 'yaml', 'zod'])
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  const worker = join(folder, version, 'worker.mjs')
  cpSync(join(import.meta.dirname, 'worker.mjs'), worker)
  if (version !== 'present') await change(join(modules, 'sluice', 'dist'), version === 'later')
  return worker
}

async function change(dist: string, writes: boolean): Promise<void> {
  for (const { module, has, write } of scripts)
    await changeScripts(join(dist, module, 'scripts.gen.js'), has, (source) =>
      replace(source, 'local call = redis.call', translating(writes ? write : '')),
    )
  const isLater = "if type(redis.pcall('HGET', KEYS[1], 'format')) == 'string' then return refuse_later(KEYS[1]) end"
  await changeScripts(join(dist, 'cache/l2/scripts.gen.js'), isLater, (source) =>
    replace(source, isLater, writes ? "redis.pcall('HSET', KEYS[1], 'format', '2')" : ''),
  )
  const copies = join(dist, 'cache/values/stored-copy.js')
  let text = readFileSync(copies, 'utf8')
  text = replace(text, '(format !== 53 && format !== 54)', '!(format >= 53 && format <= 56)')
  text = replace(text, 'format === 53 ?', 'format % 2 === 1 ?')
  if (writes) text = replace(replace(text, "plain = '5'", "plain = '7'"), "deflated = '6'", "deflated = '8'")
  writeFileSync(copies, text)
}

/** Changes those scripts of a module that have a text, and what they are called by: their hash. */
async function changeScripts(file: string, has: string, edit: (source: string) => string): Promise<void> {
  const all = Object.values((await import(pathToFileURL(file).href)) as Record<string, Partial<Script>>)
  const found = all.filter((each): each is Script => each.source?.includes(has) ?? false)
  if (found.length === 0) throw new Error(`no script in ${file} has ${has}`)
  const changed = found.reduce(
    (text, { sha1, source }) => {
      const to = edit(source)
      const literal = (lua: string): string =>
        lua.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${')
      return replace(replace(text, literal(source), literal(to)), sha1, createHash('sha1').update(to).digest('hex'))
    },
    readFileSync(file, 'utf8'),
  )
  writeFileSync(file, changed)
}

/** Replaces what must be there exactly once, so that a change of the library cannot make this test play nothing. */
function replace(text: string, from: string, to: string): string {
  if (text.split(from).length !== 2) throw new Error(`not there exactly once: ${from.slice(0, 80)}`)
  return text.replace(from, () => to)
}
