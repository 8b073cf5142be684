/** What routers and proxies interpret differently. Ordinary clients hardly ever send it. */
const strange = /[\\;]|%(?:2[ef]|5c)|\/\/|\/\.\.?(?:\/|$)|^[^/]/i

/** Whether a path may mean something else to another router. */
export function isStrange(path: string): boolean {
  return strange.test(path)
}

/** Longer strange paths are not parsed, as that would cost more than answering them. */
const longest = 1024

/**
 * Whether a path is strange and too long to parse. It then matches every pattern: ordinary clients do not send one, and
 * it must neither get around a rule nor keep the process busy.
 */
export function couldBeAny(path: string): boolean {
  return path.length > longest && isStrange(path)
}

/**
 * Everything that routers and proxies take a path for, as sent first. A request is covered by a rule when one of these
 * is: the handler runs by one reading or another, and no spelling may get around its limit.
 *
 * - `\` is `/` to `url.parse` (Express, Koa) and to the URL standard (Hono, fetch, `new URL`).
 * - `.` and `..`, also as `%2e`, are resolved by the URL standard, and `//host/path` is another host's `/path` to it.
 * - `%2f` is decoded by proxies such as nginx, before dots are resolved.
 * - `;` ends the path for Fastify's `useSemicolonDelimiter`, and a segment for servers that know path parameters.
 * - `*path` is `/path` to Fastify, whose router does not look at the first character.
 * - Of an absolute target such as `http://host?/path`, some take the query for the path; of `http:///host/path`, the
 *   URL standard takes the first segment for the host.
 */
export function pathSpellings(path: string): readonly string[] {
  if (!isStrange(path)) return [path]
  const spellings = new Set<string>([path])
  for (const each of absolutePaths(path)) {
    const slashed = each.replaceAll('\\', '/')
    const decoded = slashed.replace(/%2f|%5c/gi, '/')
    for (const one of new Set([each, slashed, decoded])) {
      spellings.add(one)
      // The URL standard takes an empty segment for one that `..` goes back to; proxies merge slashes first.
      spellings.add(withoutDots(one))
      if (one.includes('//')) spellings.add(withoutDots(one.replace(/\/\/+/g, '/')))
      const semicolon = one.indexOf(';')
      if (semicolon >= 0) {
        spellings.add(one.slice(0, semicolon))
        spellings.add(withoutDots(one.replace(/;[^/]*/g, '')))
      }
    }
    if (slashed.startsWith('//')) spellings.add(withoutDots(slashed.replace(/^\/\/+[^/]*/, '') || '/'))
  }
  return [...spellings]
}

/**
 * The one spelling of a path that all others have in common: decoded, in lower case, without empty segments, dots and
 * parameters.
 *
 * @example canonicalPath('/Users//%61/../42/') // '/users/42'
 */
export function canonicalPath(path: string): string {
  if (couldBeAny(path)) return '/..'
  const absolute = absolutePaths(path)[0]!
  const slashed = isStrange(absolute) ? absolute.replace(/\\|%2f|%5c/gi, '/').replace(/;[^/]*/g, '') : absolute
  const segments = dotsResolved(slashed.split('/').filter(Boolean))
  return comparedSegment(`/${segments.join('/')}`)
}

/** The paths of a target that does not begin with a slash; any other path is its own. */
function absolutePaths(path: string): readonly string[] {
  if (path.startsWith('/')) return [path]
  if (path.startsWith('*') && path.length > 1) return [`/${path.slice(1)}`]
  const authority = path.indexOf('://')
  if (authority < 0) return [path]
  const rest = path.slice(authority + 3)
  const slash = rest.search(/[/\\]/)
  if (slash < 0) return ['/']
  const end = rest.search(/[?#]/)
  const paths = [rest.slice(slash)]
  if (slash === 0) paths.push(rest.replace(/^[/\\]+[^/\\]*/, '') || '/')
  else if (end >= 0 && end < slash) paths.unshift('/')
  // Query and fragment were left in a target whose path is not clear.
  return end < 0 ? paths : paths.flatMap((each) => [each.replace(/[?#].*/s, '') || '/', each])
}

/** By segment: how many levels to go up, so that 0 is to stay and -1 is a segment like any other. */
function levelsUp(segment: string): number {
  if (segment.length > 6 || segment.length === 0) return -1
  const first = segment.charCodeAt(0)
  if (first !== 46 /* . */ && first !== 37 /* % */) return -1
  const plain = segment.replace(/%2e/gi, '.')
  return plain === '.' ? 0 : plain === '..' ? 1 : -1
}

function withoutDots(path: string): string {
  if (!/(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i.test(path)) return path
  return `/${dotsResolved(path.slice(1).split('/')).join('/')}`
}

/** Resolves dot segments as the URL standard does. */
function dotsResolved(segments: readonly string[]): readonly string[] {
  const kept: string[] = []
  for (const segment of segments) {
    const levels = levelsUp(segment)
    if (levels < 0) kept.push(segment)
    else if (levels > 0) kept.pop()
  }
  return kept
}

/** A segment in the form in which segments are compared. */
export function comparedSegment(segment: string): string {
  const decoded = decodeSegment(segment)
  // Routers that ignore case compare upper case, which is less discerning than lower case beyond ASCII.
  return isAscii.test(decoded) ? decoded.toLowerCase() : decoded.toUpperCase().toLowerCase()
}

const isAscii = /^[\0-\x7f]*$/

/** A segment of a request's path, percent-decoded where it can be. */
export function decodeSegment(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment.replace(/(?:%[\da-f]{2})+/gi, decodeRun)
  }
}

function decodeRun(run: string): string {
  try {
    return decodeURIComponent(run)
  } catch {
    return run
  }
}
