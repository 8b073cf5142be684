import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createCache } from 'sluice/cache'
import { lookup, type Step, threads } from 'sluice/pipeline'
import type { RedisHandle } from 'sluice/redis'
import { wrongOption } from '../connections/option-error.ts'
import type { Kind } from './pipeline-document.ts'

type Row = Record<string, unknown>

/** The default export of a module beside a document. */
export async function useModule(path: string, folder: string): Promise<unknown> {
  const file = resolve(folder, path)
  if (!existsSync(file)) throw wrongOption('use', path, `there is no file ${file}`)
  const module = (await import(pathToFileURL(file).href)) as { default?: unknown }
  if (module.default === undefined) throw wrongOption('use', path, 'it needs a default export')
  return module.default
}

/** A step of a document as a function. */
export async function stepOf(step: Kind, folder: string, redis?: RedisHandle): Promise<Step> {
  if (step.mask !== undefined) return changeFields(namesIn(step.mask), (value) => maskText(String(value)))
  if (step.hash !== undefined) {
    const { from, to } = step.hash as { from: string; to: string }
    return (row: Row) => ({ ...row, [to]: createHash('sha256').update(String(row[from])).digest('hex') })
  }
  if (step.pick !== undefined) {
    const names = namesIn(step.pick)
    return (row: Row) => Object.fromEntries(names.filter((name) => name in row).map((name) => [name, row[name]]))
  }
  if (step.rename !== undefined) {
    const names = step.rename as Record<string, string>
    return (row: Row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [names[name] ?? name, value]))
  }
  if (step.lookup !== undefined) return lookupStep(step as Record<string, string>, folder, redis)
  if (step.threads !== undefined) return threads(resolve(folder, step.use as string), { size: step.threads as number })
  return (await useModule(step.use as string, folder)) as Step
}

/** The module fetches values for a list of keys, which a cache keeps in the worker and, if there is one, in Redis. */
async function lookupStep(
  { lookup: path, key: from, to, ttl = '5m' }: Readonly<Record<string, string>>,
  folder: string,
  redis: RedisHandle | undefined,
): Promise<Step> {
  const fetch = (await useModule(path!, folder)) as (keys: readonly unknown[]) => Promise<readonly unknown[]>
  const cache = await createCache({ name: `lookup ${path} ${to}`, ttl, ...(redis && { redis }) })
  const step = lookup(cache, {
    key: (row: Row) => String(row[from!]),
    fetch: (rows) => fetch(rows.map((row) => row[from!])),
    use: (row, found) => ({ ...row, [to!]: found }),
  })
  return { ...(step as object), close: () => cache.close() } as Step
}

export const namesIn = (given: unknown): string[] => [given as string | string[]].flat()

function changeFields(names: readonly string[], change: (value: unknown) => unknown): Step {
  return (row: Row) => {
    const changed = { ...row }
    for (const name of names)
      if (changed[name] !== undefined && changed[name] !== null) changed[name] = change(changed[name])
    return changed
  }
}

/** The first character, and stars for the rest; of an address of mail, its domain stays. */
function maskText(text: string): string {
  const at = text.lastIndexOf('@')
  const [local, rest] = at > 0 ? [text.slice(0, at), text.slice(at)] : [text, '']
  return `${local.slice(0, 1)}***${rest}`
}
