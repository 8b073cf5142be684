import { wrongOption } from '../connections/option-error.ts'

/** Reads `service/source,service/other`: by service, the sources that should report. */
export function dataSourcesOf(
  { value, from = '--data-sources' }: { readonly value: string | undefined; readonly from: string | undefined },
  hasRedis: boolean,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  if (value === undefined) return found
  if (!hasRedis) throw wrongOption(from, value, 'name the Redis that they report to with --redis')
  for (const each of value.split(',')) {
    const [, service, source] = /^([^/]+)(?:\/(.+))?$/.exec(each.trim()) ?? []
    if (service === undefined || each.trim().endsWith('/'))
      throw wrongOption(from, value, 'use service/source, with commas between')
    const sources = found.get(service) ?? []
    found.set(service, sources)
    if (source !== undefined) sources.push(source)
  }
  return found
}
