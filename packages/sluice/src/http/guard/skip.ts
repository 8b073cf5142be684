import { checkFunction, checkOptionNames, optionNames } from '../../core/check-options.ts'
import { invalidOption } from '../../core/errors.ts'
import type { RequestView } from '../../policy/request-view.ts'
import { couldBeAny, isStrange, pathSpellings } from '../../policy/selector/path-spellings.ts'
import { refusePromise } from '../refuse-promise.ts'

/** Requests that are let through without a decision. */
export interface SkipOptions<Request> {
  /**
   * CORS preflights, except by rules that name their path: browsers send them unasked, and cannot show a refusal, but a
   * handler for all methods may run for them. True by default.
   */
  readonly preflight?: boolean
  /**
   * Whole paths, or beginnings that end in `/*`. By default the usual health checks: /health, /healthz, /livez,
   * /readyz.
   */
  readonly paths?: readonly string[]
  /** Methods, such as `HEAD`. None by default: a HEAD request costs a service as much as its GET. */
  readonly methods?: readonly string[]
  /** Anything else. */
  readonly when?: (request: Request, view: RequestView) => boolean
}

/** Whether a request passes without a decision, or is one that only rules that name its path decide on. */
export type Skips<Request> = (request: Request, view: RequestView) => boolean | 'preflight'

const names = optionNames<SkipOptions<never>>({ preflight: true, paths: true, methods: true, when: true })

/** Resolves the skip lists once. */
export function skips<Request>(options: SkipOptions<Request> = {}): Skips<Request> {
  checkOptionNames('skip', options, names)
  checkFunction('skip.when', options.when)
  // Of others it shows only when they are called.
  if (options.when?.constructor.name === 'AsyncFunction')
    throw invalidOption('skip.when', options.when, 'use one that answers at once')
  const { preflight = true, methods = [], when, paths = ['/health', '/healthz', '/livez', '/readyz'] } = options
  if (!Array.isArray(paths)) throw invalidOption('skip.paths', paths, 'use a list such as ["/healthz", "/static/*"]')
  for (const path of paths) {
    if (typeof path !== 'string' || !path.startsWith('/')) {
      throw invalidOption('skip.paths', path, 'begin it with a slash')
    }
  }
  if (!Array.isArray(methods)) throw invalidOption('skip.methods', methods, 'use a list such as ["HEAD"]')
  const whole = new Set(paths.filter((path) => !path.endsWith('/*')))
  const beginnings = paths.filter((path) => path.endsWith('/*')).map((path) => path.slice(0, -1))
  const skipped = new Set(methods.map((method: string) => method.toUpperCase()))
  return (request, view) =>
    whole.has(view.path) ||
    (beginnings.length > 0 && beginnings.some((beginning) => isBelow(view.path, beginning))) ||
    (skipped.size > 0 && skipped.has(view.method)) ||
    (when !== undefined && refusePromise('skip.when', when(request, view))) ||
    (preflight && view.method === 'OPTIONS' && isPreflight(view) && 'preflight')
}

/**
 * Whether a path is below another by every reading of it: `/static/../login` must not be let through as a static file.
 */
const isBelow = (path: string, beginning: string): boolean =>
  path.startsWith(beginning) &&
  (!isStrange(path) || (!couldBeAny(path) && pathSpellings(path).every((spelling) => spelling.startsWith(beginning))))

/** An origin as browsers write it (RFC 6454, section 7): `null`, or a scheme and a host. */
const origin = /^(?:null|[a-z][a-z0-9+.-]*:\/\/\S*)$/i
const method = /^[\w!#$%&'*+.^`|~-]+$/

/** What the Fetch standard calls a CORS-preflight request; any other OPTIONS is a request like all others. */
const isPreflight = ({ headers }: RequestView): boolean =>
  isOneText(headers.origin, origin) && isOneText(headers['access-control-request-method'], method)

/** A view of a preflight; the parts of `view` are read only when a rule asks for them. */
export const asPreflight = (view: RequestView): RequestView =>
  new Proxy(view, { get: (target, name) => name === 'preflight' || Reflect.get(target, name) })

const isOneText = (value: unknown, form: RegExp): boolean => typeof value === 'string' && form.test(value)
