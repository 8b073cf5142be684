import { hasDotSegments } from 'sluice/internal'

/** Where a request goes: an upstream by name, and the path on it. */
export interface ProxyTarget {
  readonly upstream: string
  /** Path and query, beginning with a slash. */
  readonly path: string
}

/** Why a request line has no target. */
export type TargetProblem = 'malformed' | 'unknown-upstream'

/**
 * Finds the target of a request line. The first segment names the upstream; where there is only one, it may be left
 * out. Only names of the configuration are ever compared: no host, authority or decoded text of a request chooses where
 * it goes.
 */
export function targetOf(
  requestTarget: string,
  upstreams: readonly { readonly name: string }[],
): ProxyTarget | TargetProblem {
  const text = pathOf(requestTarget)
  if (text === undefined) return 'malformed'
  const mark = text.indexOf('?')
  const path = mark < 0 ? text : text.slice(0, mark)
  const query = mark < 0 ? '' : text.slice(mark)
  if (!isPlainPath(path)) return 'malformed'
  const end = path.indexOf('/', 1)
  const first = path.slice(1, end < 0 ? undefined : end)
  for (const { name } of upstreams)
    if (name === first) return { upstream: name, path: `${end < 0 ? '/' : path.slice(end)}${query}` }
  return upstreams.length === 1 ? { upstream: upstreams[0]!.name, path: text } : 'unknown-upstream'
}

/** Path and query of a request target; of the absolute form (RFC 9112, 3.2.2) the authority is left out. */
function pathOf(requestTarget: string): string | undefined {
  if (requestTarget.startsWith('/')) return requestTarget
  const absolute = /^https?:\/\/[^/?#\\@\s]+([/?].*)?$/i.exec(requestTarget)
  if (!absolute) return undefined
  const rest = absolute[1] ?? ''
  return rest.startsWith('/') ? rest : `/${rest}`
}

/**
 * Whether all parsers of a path agree on what it means: no empty first segment, no dot segments, however they are
 * written.
 */
function isPlainPath(path: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there.
  if (path.startsWith('//') || /[\x00-\x20\x7f-\uffff\\#]/.test(path)) return false
  return !hasDotSegments(path)
}
