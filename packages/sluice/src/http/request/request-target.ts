/**
 * The path of a request target as sent, without query and fragment: of `/a?b`, and also of `http://host/a?b`, which
 * clients send to proxies. A target such as `http://host?/a` or `http:///a/b`, in which some see one path and some
 * another, is left as it is for the rules to see.
 *
 * @example pathOf('/users/42?full=1') // '/users/42'
 */
export function pathOf(target: string): string {
  if (target.charCodeAt(0) === 47 /* / */) return target.slice(0, endOfPath(target))
  const authority = target.indexOf('://')
  if (authority < 0) return target.slice(0, endOfPath(target))
  const start = target.indexOf('/', authority + 3)
  const end = endOfPath(target)
  if (start < 0) return target.includes('\\') ? target : '/'
  return authority + 3 < start && start < end ? target.slice(start, end) : target
}

/** The parameters of a request target's query; those sent several times are lists. */
export function queryOf(target: string): Record<string, string | string[]> {
  const start = target.indexOf('?')
  const fragment = target.indexOf('#')
  if (start < 0 || (fragment >= 0 && fragment < start)) return valuesByName([])
  return valuesByName(new URLSearchParams(target.slice(start + 1, fragment < 0 ? undefined : fragment)))
}

/**
 * The query as Fastify parsed it, which takes a fragment for a part of the query. All fields that it found count, so
 * that `?#&user=bob` hides nothing; but a value ends before the fragment, as a handler that parses the target itself
 * sees it. Where the two differ otherwise, the field has both values.
 */
export function queryIn(target: string, parsed: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (!target.includes('#')) return parsed
  const fields: Record<string, unknown> = Object.assign(Object.create(null), parsed)
  for (const [name, value] of Object.entries(queryOf(target))) {
    const seen = fields[name]
    const isSame = seen === undefined || seen === value || (typeof seen === 'string' && seen.startsWith(`${value}#`))
    fields[name] = isSame ? value : [seen, value].flat()
  }
  return fields
}

/** Fields by their names; those that come several times are lists. */
export function valuesByName(fields: Iterable<readonly [string, string]>): Record<string, string | string[]> {
  const values: Record<string, string | string[]> = Object.create(null)
  for (const [name, value] of fields) {
    const before = values[name]
    if (before === undefined) values[name] = value
    else if (typeof before === 'string') values[name] = [before, value]
    else before.push(value)
  }
  return values
}

/** Routers end the path at `?` and at `#`, although a client should not send the latter. */
function endOfPath(target: string): number {
  const query = target.indexOf('?')
  const fragment = target.indexOf('#')
  if (query < 0) return fragment < 0 ? target.length : fragment
  return fragment >= 0 && fragment < query ? fragment : query
}
