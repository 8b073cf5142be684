import type { Dispatcher } from 'undici'
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
    const known = upstreams
      .filter(({ origin }) => origin !== '')
      .map(({ origin, pathPrefix }) => origin + pathPrefix)
      .join(', ')
    throw new SluiceError(
      'SLUICE_UNKNOWN_UPSTREAM',
      `no upstream covers ${url.origin}${url.pathname}; known are ${known}`,
    )
  }
  return best
}

const mostRoutes = 1000

/** Finds the upstream of a request by the policy in force, and caches the result. */
export class Routes {
  readonly #current: () => readonly CompiledUpstream[]
  #upstreams: readonly CompiledUpstream[] = []
  #byName: ReadonlyMap<string, CompiledUpstream> = new Map()
  readonly #byOrigin = new Map<string, CompiledUpstream>()

  constructor(current: () => readonly CompiledUpstream[]) {
    this.#current = current
  }

  /** The upstream of this name. */
  named(name: string): CompiledUpstream {
    this.#follow()
    const upstream = this.#byName.get(name)
    if (upstream !== undefined) return upstream
    const known = [...this.#byName.keys()].join(', ')
    const message = `there is no upstream ${JSON.stringify(name)}; known are ${known}`
    throw new SluiceError('SLUICE_UNKNOWN_UPSTREAM', message)
  }

  /** The same for a request, which needs an address. */
  withOrigin(name: string): CompiledUpstream {
    const upstream = this.named(name)
    if (upstream.origin !== '') return upstream
    throw new SluiceError('SLUICE_UNKNOWN_UPSTREAM', `the upstream ${name} has no origin; call it with egress.run`)
  }

  /** Where a request goes. If a whole origin is one upstream, the rest of the URL is not parsed. */
  of({ origin, path }: Dispatcher.DispatchOptions): CompiledUpstream {
    const upstreams = this.#follow()
    const isPlain = typeof origin === 'string' && path.startsWith('/') && path[1] !== '/' && path[1] !== '\\'
    const known = isPlain ? this.#byOrigin.get(origin) : undefined
    if (known) return known
    const url = new URL(path, String(origin))
    const upstream = routeOf(upstreams, url)
    const isWhole = upstreams.every((each) => each.origin !== url.origin || each === upstream)
    if (isPlain && isWhole && upstream.pathPrefix === '/' && this.#byOrigin.size < mostRoutes)
      this.#byOrigin.set(origin, upstream)
    return upstream
  }

  #follow(): readonly CompiledUpstream[] {
    const upstreams = this.#current()
    if (upstreams === this.#upstreams) return upstreams
    this.#upstreams = upstreams
    this.#byName = new Map(upstreams.map((upstream) => [upstream.name, upstream]))
    this.#byOrigin.clear()
    return upstreams
  }
}

/** A path below the prefix of an upstream; one that leaves it, as `/../x` does, is refused. */
export function pathAt({ name, origin, pathPrefix }: CompiledUpstream, path: string): string {
  if (pathPrefix === '/') return path
  const whole = pathPrefix + path
  if (!isUnder(new URL(origin + whole).pathname, pathPrefix)) {
    const message = `the path ${JSON.stringify(path)} is not below the address of upstream ${name}, ${origin}${pathPrefix}`
    throw new SluiceError('SLUICE_UNKNOWN_UPSTREAM', message)
  }
  return whole
}
