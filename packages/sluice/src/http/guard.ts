import { invalidOption } from '../core/errors.ts'
import type { Decision } from '../limiter/decision/decision.ts'
import type { Admission, HoldHandle, Limiter } from '../limiter/limiter.ts'
import type { RequestView } from '../policy/match/request-view.ts'
import { charging } from './charging.ts'
import { delays } from './delay.ts'
import type { Denial, GuardOptions, ResponseEnd } from './guard-options.ts'
import type { Header } from './headers/header.ts'
import { partitionKey } from './headers/partition-key.ts'
import { type NameOf, rateLimitHeaders } from './headers/rate-limit-headers.ts'
import { retryAfterSeconds } from './headers/retry-after.ts'
import { type Identify, identity } from './identity/identity.ts'
import { OpenHolds } from './open-holds.ts'
import { problemTexts, problemType } from './problem.ts'
import { skips } from './skip.ts'
import { turns } from './turn.ts'
import { warnOnce } from './warn-once.ts'

/** What was decided about a request, and what is to be done about it. */
export interface Outcome {
  /** Undefined when the request was let through without one. */
  readonly decision: Decision | undefined
  /** The rate-limit headers; a denial has them in its own. */
  readonly headers: readonly Header[]
  readonly denial: Denial | undefined
  /** To be called when the response has ended, if it is there: settles what the request holds. Only the first call counts. */
  readonly finish: ((end: ResponseEnd) => void) | undefined
}

/** Decides on requests for an adapter. */
export interface HttpGuard<Request> {
  readonly identify: Identify
  /** The same for a view, whose headers are left unread unless proxies are trusted: frameworks parse them when they are first read. */
  clientOf(socketAddress: string | undefined, view: Pick<RequestView, 'headers'>): string | undefined
  /** Whether the policy looked into bodies when it was last asked. */
  readonly readsBody: boolean
  /** `gone` gives a signal that is aborted when the client goes away; it is asked for only when the request has to wait. */
  decide(view: RequestView, request: Request, gone?: () => AbortSignal): Promise<Outcome>
}

const passed: Outcome = Object.freeze({ decision: undefined, headers: [], denial: undefined, finish: undefined })
const noHeaders: RequestView['headers'] = Object.freeze({})
const passing: Promise<Outcome> = Promise.resolve(passed)
const defaults = Object.freeze({
  headers: 'draft-11',
  maxDelayMs: 1000,
  maxDelayed: 1000,
  retryAfterJitterMs: 0,
} as const)

/**
 * The core that all adapters share: it knows requests only as views, and answers only as values.
 *
 * @example
 * const guard = httpGuard(limiter, { headers: ['draft-11', 'x-ratelimit'] })
 * const { decision, headers, denial } = await guard.decide(view, request)
 */
export function httpGuard<Request, Exchange, Answer>(
  limiter: Limiter,
  options: GuardOptions<Request, Exchange, Answer> = {},
  bodyHint = 'parse the body before the limiter sees the request',
): HttpGuard<Request> {
  const resolved = { ...defaults, ...options }
  const { maxDelayMs, maxDelayed, retryAfterJitterMs, chargeWhen, partition } = resolved
  refuseWrong(resolved)
  const nameOf: NameOf =
    options.policyName ?? ((limit) => (limiter.policy.rules.length > 1 ? `${limit.rule}/${limit.name}` : limit.name))
  const writeHeaders = rateLimitHeaders(resolved.headers, nameOf)
  const problemText = problemTexts(nameOf)
  const isSkipped = skips(options.skip)
  const identify = identity(options.identity)
  const trustsProxies = (options.identity?.trustedProxies?.length ?? 0) > 0
  const hash = partitionKey(partition?.secret)
  const delay = options.onDeny === 'delay' ? delays(maxDelayMs, maxDelayed) : undefined
  const holds = new OpenHolds()
  const presentTurn = turns<Outcome>()
  const ask = charging(limiter, options, holds.ttlMs)
  const warnOfBody = warnOnce('SLUICE_BODY_NOT_PARSED')
  const warnOfCharge = warnOnce('SLUICE_CHARGE_WHEN_FAILED')

  let readsBody = limiter.policy.readsBody
  let policyVersion = limiter.policy.status.version

  /** A new policy may have other needs. */
  function follow(decision: Decision): void {
    if (decision.policyVersion === policyVersion) return
    policyVersion = decision.policyVersion
    readsBody = limiter.policy.readsBody
  }

  function denialOf(decision: Decision, limitHeaders: readonly Header[]): Denial {
    const { problem, json } = problemText(decision)
    const { status } = problem
    const type: Header = ['Content-Type', problemType]
    const headers: Header[] = status === 400 ? [...limitHeaders, type] : [...limitHeaders, retryAfter(decision), type]
    return { status, headers, body: json, problem, decision }
  }

  function retryAfter(decision: Decision): Header {
    const jitterMs = retryAfterJitterMs > 0 ? Math.random() * retryAfterJitterMs : 0
    return ['Retry-After', `${retryAfterSeconds(decision, jitterMs)}`]
  }

  function partitionOf(request: Request, view: RequestView): string {
    const subject = partition?.of(request, view)
    return subject === undefined ? '' : hash(subject)
  }

  /** What is held is ended by what the response turned out to be. */
  function finishOf(hold: HoldHandle, request: Request): (end: ResponseEnd) => void {
    holds.add(hold)
    let hasEnded = false
    return (end) => {
      // A body that is given up can end twice: for its reader, and for its source.
      if (hasEnded) return
      hasEnded = true
      let charge: boolean | number = true
      try {
        if (chargeWhen) charge = chargeWhen(end, request, hold.decision)
      } catch (error) {
        warnOfCharge(`chargeWhen threw, so the full cost was spent: ${error}`)
      }
      holds.end(hold, (open) => {
        if (charge === false) return open.cancel()
        return typeof charge === 'number' ? open.settle(units(charge)) : open.release()
      })
    }
  }

  function conclude({ decision, hold }: Admission, view: RequestView, request: Request): Outcome {
    follow(decision)
    const headers = writeHeaders(decision, partition === undefined ? '' : partitionOf(request, view))
    if (!decision.allowed) {
      const denial = denialOf(decision, headers)
      return { decision, headers: denial.headers, denial, finish: undefined }
    }
    return { decision, headers, denial: undefined, finish: hold && finishOf(hold, request) }
  }

  async function waited(
    answer: Admission,
    view: RequestView,
    request: Request,
    gone?: () => AbortSignal,
  ): Promise<Outcome> {
    if (delay === undefined || answer.decision.allowed) return conclude(answer, view, request)
    return conclude(await delay(answer, () => ask(view, request), gone?.()), view, request)
  }

  return {
    identify,
    clientOf: (socketAddress, view) => identify(socketAddress, trustsProxies ? view.headers : noHeaders),
    get readsBody() {
      return readsBody
    },
    decide(view, request, gone) {
      try {
        if (isSkipped(request, view)) return passing
        if (readsBody && view.body === undefined && hasBody(view)) {
          warnOfBody(`A rule reads the body, but a request came with a body that was not parsed; ${bodyHint}.`)
        }
        const asked = ask(view, request)
        if (asked === undefined) return passing
        const turn = presentTurn()
        return new Promise((resolve, reject) => {
          asked.then((answer) => {
            try {
              if (delay === undefined) turn.resolve(resolve, conclude(answer, view, request))
              else resolve(waited(answer, view, request, gone))
            } catch (error) {
              reject(error)
            }
          }, reject)
        })
      } catch (error) {
        return Promise.reject(error)
      }
    },
  }
}

/** Whether a body came with the request, by its framing (RFC 9112, section 6). */
const hasBody = ({ headers }: RequestView): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const units = (charge: number): number => (charge > 0 ? Math.min(Math.ceil(charge), 1e13) : 0)

function refuseWrong(options: {
  readonly maxDelayMs: number
  readonly maxDelayed: number
  readonly retryAfterJitterMs: number
  readonly onDeny?: unknown
}): void {
  if (!['refuse', 'delay', undefined].includes(options.onDeny as string)) {
    throw invalidOption('onDeny', options.onDeny, 'use "refuse" or "delay"')
  }
  for (const name of ['maxDelayMs', 'maxDelayed', 'retryAfterJitterMs'] as const) {
    // A longer timer fires at once in Node.
    if (!(options[name] >= 0 && options[name] < 2 ** 31)) {
      throw invalidOption(name, options[name], 'use a number from 0 to 2147483647')
    }
  }
}
