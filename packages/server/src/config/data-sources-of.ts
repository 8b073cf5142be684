import { wrongOption } from './option-error.ts'

/** Reads `namespace/source,namespace/other`: by namespace, the sources that should report. */
export function dataSourcesOf(
  { value, from = '--data-sources' }: { readonly value: string | undefined; readonly from: string | undefined },
  redis: string | undefined,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  if (value === undefined) return found
  if (redis === undefined) throw wrongOption(from, value, 'name the Redis that they report to with --redis')
  for (const each of value.split(',')) {
    const [, namespace, source] = /^([^/]+)(?:\/(.+))?$/.exec(each.trim()) ?? []
    if (namespace === undefined || each.trim().endsWith('/'))
      throw wrongOption(from, value, 'use namespace/source, with commas between')
    const sources = found.get(namespace) ?? []
    found.set(namespace, sources)
    if (source !== undefined) sources.push(source)
  }
  return found
}
