/**
 * The value of a cookie, decoded as servers decode it, so that spellings of one value are one subject; several where
 * the name comes more than once.
 */
export function cookieOf(headers: unknown, name: string): string | readonly string[] | undefined {
  const header = fieldOf(headers, 'cookie')
  const lines = Array.isArray(header) ? header : [header]
  const values: string[] = []
  for (const line of lines) {
    if (typeof line !== 'string' || !line.includes(name)) continue
    for (const pair of line.split(';')) {
      const equals = pair.indexOf('=')
      if (equals > 0 && pair.slice(0, equals).trim() === name) values.push(decoded(pair.slice(equals + 1).trim()))
    }
  }
  return values.length < 2 ? values[0] : values
}

function decoded(value: string): string {
  const bare = value.length >= 2 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value
  if (!bare.includes('%')) return bare
  try {
    return decodeURIComponent(bare)
  } catch {
    return bare
  }
}

/** The host that a request is for, in lower case and without its port. */
export function hostOf(headers: unknown): string | undefined {
  const value = fieldOf(headers, 'host') ?? fieldOf(headers, ':authority')
  if (typeof value !== 'string') return undefined
  const host = value.trim().toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
  return host === '' ? undefined : host
}

function fieldOf(headers: unknown, name: string): unknown {
  if (typeof headers !== 'object' || headers === null || !Object.hasOwn(headers, name)) return undefined
  return (headers as Readonly<Record<string, unknown>>)[name]
}
