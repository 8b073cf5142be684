import { SluiceError } from '../core/errors.ts'
import { isUnder } from '../policy/upstream/origin.ts'
import type { CompiledUpstream } from '../policy/upstream/upstream.ts'

/** The upstream that a URL belongs to: the same origin, and the longest path prefix. */
export function routeOf(upstreams: readonly CompiledUpstream[], url: URL): CompiledUpstream {
  let best: CompiledUpstream | undefined
  for (const upstream of upstreams) {
    if (upstream.origin !== url.origin || !isUnder(url.pathname, upstream.pathPrefix)) continue
    if (best === undefined || upstream.pathPrefix.length > best.pathPrefix.length) best = upstream
  }
  if (best === undefined) {
    const known = upstreams.map(({ origin, pathPrefix }) => origin + pathPrefix).join(', ')
    throw new SluiceError(
      'SLUICE_UNKNOWN_UPSTREAM',
      `no upstream covers ${url.origin}${url.pathname}; known are ${known}`,
    )
  }
  return best
}
