/**
 * The path of a request target as sent, without the query: of `/a?b`, and also of `http://host/a?b`, which clients send to proxies.
 *
 * @example pathOf('/users/42?full=1') // '/users/42'
 */
export function pathOf(target: string): string {
  const end = target.indexOf('?')
  const whole = end < 0 ? target : target.slice(0, end)
  if (whole.charCodeAt(0) === 47 /* / */) return whole
  const authority = whole.indexOf('://')
  if (authority < 0) return whole
  const start = whole.indexOf('/', authority + 3)
  return start < 0 ? '/' : whole.slice(start)
}

/** The parameters of a request target's query; those sent several times are lists. */
export function queryOf(target: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null)
  const start = target.indexOf('?')
  if (start < 0) return query
  for (const [name, value] of new URLSearchParams(target.slice(start + 1))) {
    const before = query[name]
    if (before === undefined) query[name] = value
    else if (typeof before === 'string') query[name] = [before, value]
    else before.push(value)
  }
  return query
}
