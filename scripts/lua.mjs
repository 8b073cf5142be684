// Writes a scripts.gen.ts beside every lua/ folder of the library. `--check` fails when one is out of date.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const sources = fileURLToPath(new URL('../packages/sluice/src/', import.meta.url))
const read = (file) => readFileSync(file, 'utf8')

const includeLine = /^\s*---\s*@(include|inline)\s+["']?([^"'\s]+?)["']?\s*$/

/**
 * The lines of a file with other files in it. `--- @include piece.lua` brings a file once, where it is first asked for;
 * `--- @inline rule.lua` brings it every time, for code that must not cost a function call.
 */
export function resolveIncludes(file, read, seen = new Set()) {
  seen.add(file)
  return read(file)
    .split(/\r?\n/)
    .flatMap((line) => {
      const [, how, name] = includeLine.exec(line) ?? []
      if (!how) return [line]
      const target = join(dirname(file), name.endsWith('.lua') ? name : `${name}.lua`)
      return how === 'include' && seen.has(target) ? [] : resolveIncludes(target, read, seen)
    })
}

const constantLine = /^\s*---\s*@const\s+([A-Z][A-Z0-9_]*)\s*=\s*(-?\d+)\s*(?:--.*)?$/
/** Texts and comments, which stay as they are, and words that may be constants. */
const words = /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|--.*$|\b[A-Z][A-Z0-9_]*\b/g

/** The values that `--- @const NAME = 1` lines give to names. */
export function constantsIn(lines) {
  const constants = {}
  for (const line of lines) {
    const [, name, value] = constantLine.exec(line) ?? []
    if (!name) continue
    if (name in constants && constants[name] !== Number(value)) throw new Error(`${name} is declared with two values`)
    constants[name] = Number(value)
  }
  return constants
}

/** Lua looks up a name whenever it comes by it; a number in its place costs nothing. */
function fillIn(lines, constants) {
  return lines.map((line) => line.replace(words, (word) => (word in constants ? String(constants[word]) : word)))
}

/** The text of a script as it is sent to Redis. `read` can put other files in the place of some, as a test's clock. */
export function scriptSource(file, readFile = read) {
  const lines = resolveIncludes(file, readFile)
  return `${fillIn(strip(lines), constantsIn(lines)).join('\n')}\n`
}

/** Drops comment lines, blank lines and indentation. Long strings and what follows code on a line stay as they are. */
export function strip(lines) {
  const kept = []
  let open // the bracket that ends a long string or a block comment we are in, and whether we keep its lines
  for (const line of lines) {
    if (open) {
      if (open.keep) kept.push(line)
      const end = line.indexOf(open.close)
      if (end < 0) continue
      const rest = line.slice(end + open.close.length)
      if (!open.keep && rest.trim() !== '') kept.push(rest.trim())
      open = openedBy(rest)
      continue
    }
    const text = line.trim()
    if (text === '') continue
    const block = /^--\[(=*)\[/.exec(text)
    if (block) {
      const close = `]${block[1]}]`
      const end = text.indexOf(close)
      if (end < 0) open = { close, keep: false }
      else if (text.slice(end + close.length).trim() !== '') kept.push(text)
      continue
    }
    if (text.startsWith('--')) continue
    open = openedBy(text)
    // Within a long string that starts here, trailing blanks belong to the string.
    kept.push(open ? line.trimStart() : text)
  }
  return kept
}

/** The long bracket a piece of code leaves open at its end, if any; quotes and line comments hide brackets. */
function openedBy(code) {
  for (let at = 0; at < code.length; at++) {
    const char = code[at]
    if (char === '"' || char === "'") {
      for (at++; at < code.length && code[at] !== char; at++) if (code[at] === '\\') at++
      continue
    }
    const isComment = code.startsWith('--', at)
    const bracket = /^\[(=*)\[/.exec(code.slice(isComment ? at + 2 : at))
    if (bracket) {
      const close = `]${bracket[1]}]`
      const end = code.indexOf(close, at)
      if (end < 0) return { close, keep: true }
      at = end + close.length - 1
    } else if (isComment) return undefined
  }
  return undefined
}

const camelCase = (name) => name.replace(/[-_]+(\w)/g, (_, letter) => letter.toUpperCase())

const luaFiles = (folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.lua'))
    .sort()
    .map((name) => join(folder, name))

/** Every `lua` folder below `root`. */
function luaFolders(root) {
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => (name === 'lua' ? [join(root, name)] : luaFolders(join(root, name))))
}

/** A file that another one includes, from whichever folder, is a piece and not a script of its own. */
function piecesOf(folders) {
  return new Set(
    folders.flatMap(luaFiles).flatMap((file) => {
      const seen = new Set()
      resolveIncludes(file, read, seen)
      seen.delete(file)
      return [...seen]
    }),
  )
}

/** The text of the generated module, or undefined for a folder that only has pieces. */
export function generate(luaFolder, pieces = piecesOf([luaFolder]), typeFile = join(sources, 'redis/script.ts')) {
  const scripts = luaFiles(luaFolder).filter((file) => !pieces.has(file))
  if (scripts.length === 0) return undefined
  const type = relative(dirname(luaFolder), typeFile)
  return [
    '// Generated from lua/*.lua by `npm run generate`. Do not edit.',
    `import type { Script } from '${type.startsWith('.') ? type : `./${type}`}'`,
    ...emitConstants(constantsIn(scripts.flatMap((file) => resolveIncludes(file, read)))),
    ...scripts.map((file) => emit(basename(file, '.lua'), scriptSource(file))),
    '',
  ].join('\n')
}

/** The constants of a folder's scripts, for the code that writes their arguments and reads their replies. */
function emitConstants(constants) {
  const entries = Object.entries(constants)
  if (entries.length === 0) return []
  return ['\nexport const constants = {', ...entries.map(([name, value]) => `  ${name}: ${value},`), '} as const']
}

function emit(fileName, source) {
  const name = camelCase(fileName)
  const sha1 = createHash('sha1').update(source).digest('hex')
  const literal = source.replace(/[\\`]|\$\{/g, '\\$&')
  return `\nexport const ${name}: Script = {\n  name: '${name}',\n  sha1: '${sha1}',\n  source: \`${literal}\`,\n}`
}

/** Brings the generated files up to date and returns those that were not; with `check` it only looks. */
export function writeScripts({ check = false } = {}) {
  const folders = luaFolders(sources)
  const pieces = piecesOf(folders)
  return folders.flatMap((folder) => {
    const file = join(dirname(folder), 'scripts.gen.ts')
    const text = generate(folder, pieces)
    const before = existsSync(file) ? read(file) : undefined
    if (text === undefined || text === before) return []
    if (!check) writeFileSync(file, text) // an unchanged file keeps its time, so that nothing is built again
    return [relative(sources, file)]
  })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const check = process.argv.includes('--check')
  const outdated = writeScripts({ check })
  if (check && outdated.length > 0) {
    console.error(`out of date: ${outdated.join(', ')}; run npm run generate`)
    process.exitCode = 1
  }
}
