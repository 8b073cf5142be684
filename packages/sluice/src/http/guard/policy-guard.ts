import type { Guard } from '../../admission/guard.ts'
import { type Finish, type GuardOutcome, passed, type ResponseEnd } from '../../admission/outcome.ts'
import { maxUnits } from '../../core/algorithms/limit.ts'
import { pickOptions } from '../../core/check-options.ts'
import { isSluiceError, SluiceError, show } from '../../core/errors.ts'
import { warnOnce } from '../../core/observe/warn-once.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { Units } from '../../limiter/decision/units.ts'
import type { Admission, HoldHandle, Limiter } from '../../limiter/limiter.ts'
import { type RequestView, unreadableBody } from '../../policy/request-view.ts'
import { partitionKey } from '../headers/partition-key.ts'
import { refusePromise } from '../refuse-promise.ts'
import { carriesBody } from '../request/request-views.ts'
import { charging } from './charging.ts'
import { answerOptionNames, decisionAnswers } from './decision-answers.ts'
import type { CheckedOptions } from './guard-options.ts'
import { withoutLimiter } from './pending-guard.ts'
import { settlements } from './settlements.ts'
import { asPreflight } from './skip.ts'
import { turns } from './turn.ts'

const passing: Promise<GuardOutcome<Decision>> = Promise.resolve(passed)
const closedDetail = 'The limiter of this service was closed.'

/**
 * The guard that enforces the policy of a limiter, with options that were checked. It knows requests only as views, and
 * answers only as values.
 */
export function policyGuard<Request>(
  limiter: Limiter,
  options: CheckedOptions<Request>,
  bodyHint: string,
): Guard<Request, Decision> {
  const { maxDelayMs, maxDelayed, isSkipped, chargeWhen, readUsage, partition } = options
  const answerTo = decisionAnswers(limiter, pickOptions(options, answerOptionNames))
  const isOwn = options.rule !== undefined || options.key !== undefined
  const partitionOf = partition === undefined ? () => '' : partitions(partition)
  let delayed = 0
  const settleLater = settlements(limiter.clock)
  const presentTurn = turns<GuardOutcome<Decision>>()
  const ask = charging(limiter, options)
  const warnOfBody = warnOnce('SLUICE_BODY_NOT_PARSED')
  const warnOfCharge = warnOnce('SLUICE_CHARGE_WHEN_FAILED')
  const warnOfRules = warnOnce('SLUICE_NO_RULE_FOR_REQUESTS')
  let checked: Limiter['policy'] | undefined

  /** Warns of a policy without a rule for requests: it would let all of them pass, which is hardly intended. */
  function checkPolicy(policy: Limiter['policy']): void {
    checked = policy
    if (isOwn || policy.hasRequestRules) return
    warnOfRules(
      `No rule of the policy of ${policy.service} has a key, so no request is limited: give a rule a key such as "ip", or name the rule ` +
        'and the key in the options of the limiter, such as { rule: "per-user", key: (request) => request.user.id }.',
    )
  }
  checkPolicy(limiter.policy)

  /** What is held is ended by what the response turned out to be. */
  function finishOf(hold: HoldHandle, request: Request): Finish {
    let hasEnded = false
    const finish = (end: ResponseEnd): void => {
      // A body that is given up can end twice: for its reader, and for its source.
      if (hasEnded) return
      hasEnded = true
      let charge: boolean | Units = true
      try {
        if (chargeWhen) charge = checkCharge(refusePromise('chargeWhen', chargeWhen(end, request, hold.decision)))
      } catch (error) {
        warnOfCharge(`chargeWhen failed, so the full cost was spent: ${error}`)
      }
      // A client that hung up may have had what it wanted, such as a guess at a password.
      const isFree = charge === false && end.completed
      endHold(hold, charge, isFree)
    }
    return readUsage ? Object.assign(finish, { readUsage }) : finish
  }

  /** Outside of `finishOf`, so that what waits to be settled does not keep its request. */
  function endHold(hold: HoldHandle, charge: boolean | Units, isFree: boolean): void {
    settleLater(() => {
      if (isFree) return hold.cancel()
      return typeof charge === 'boolean' ? hold.release() : settle(hold, charge)
    })
  }

  /** What names no rule of the policy is a mistake in `chargeWhen`; a store that fails is not. */
  async function settle(hold: HoldHandle, charge: Units): Promise<boolean> {
    try {
      return await hold.settle(charge)
    } catch (error) {
      if (!isSluiceError(error) || error.code !== 'SLUICE_UNKNOWN_RULE') throw error
      warnOfCharge(`chargeWhen named an unknown rule, so the full cost was spent: ${error.message}`)
      return hold.release()
    }
  }

  function conclude({ decision, hold }: Admission, view: RequestView, request: Request): GuardOutcome<Decision> {
    const finish = decision.allowed && hold !== undefined ? finishOf(hold, request) : undefined
    try {
      const { headers, denial } = answerTo(decision, partitionOf(request, view))
      return { decision, headers, denial, finish }
    } catch (error) {
      // `partition` or `policyName` failed, and the request fails with it: nobody else would end what is held.
      finish?.({ status: 500, bytes: 0, completed: true })
      throw error
    }
  }

  async function waited(
    answer: Admission,
    view: RequestView,
    request: Request,
    gone?: () => AbortSignal,
  ): Promise<GuardOutcome<Decision>> {
    const { allowed, reason } = answer.decision
    if (allowed || reason !== 'quota' || delayed >= maxDelayed) return conclude(answer, view, request)
    const signal = gone?.()
    delayed += 1
    try {
      const waiting = { maxWait: maxDelayMs, ...(signal === undefined ? {} : { signal }) }
      return conclude((await ask(view, request, waiting)) ?? answer, view, request)
    } catch (error) {
      if (signal?.aborted) return conclude(answer, view, request)
      throw error
    } finally {
      delayed -= 1
    }
  }

  return {
    get readsBody() {
      return limiter.policy.readsBody || readUsage !== undefined
    },
    decide(seen, request, gone) {
      try {
        const skipped = isSkipped(request, seen)
        // A rule or key named in code stands for no path.
        if (skipped === true || (skipped && isOwn)) return passing
        const view = skipped ? asPreflight(seen) : seen
        const { policy } = limiter
        if (policy !== checked) checkPolicy(policy)
        if (policy.readsBody && isUnread(view)) {
          warnOfBody(`A rule reads the body, but a request came with a body that was not parsed; ${bodyHint}.`)
        }
        const asked = ask(view, request)
        if (asked === undefined) return passing
        const turn = presentTurn()
        return new Promise((resolve, reject) => {
          const failed = (error: unknown): void => {
            if (isSluiceError(error) && error.code === 'SLUICE_CLOSED') resolve(withoutLimiter(error, closedDetail))
            else reject(error)
          }
          asked.then((answer) => {
            try {
              if (answer === undefined) resolve(passed)
              else if (maxDelayMs === 0) turn.resolve(resolve, conclude(answer, view, request))
              else waited(answer, view, request, gone).then(resolve, failed)
            } catch (error) {
              failed(error)
            }
          }, failed)
        })
      } catch (error) {
        return Promise.reject(error)
      }
    },
  }
}

/** Makes the function that returns the partition of a request as clients see it; empty when it has none. */
function partitions<Request>({
  of,
  secret,
}: NonNullable<CheckedOptions<Request>['partition']>): (request: Request, view: RequestView) => string {
  const hash = partitionKey(secret)
  return (request, view) => {
    const subject = of(request, view)
    return subject === undefined ? '' : hash(subject)
  }
}

/** Whether the request has a body that was not parsed. */
function isUnread({ body, headers }: RequestView): boolean {
  return body === unreadableBody || (body === undefined && carriesBody(headers))
}

/**
 * What `chargeWhen` answered, in whole units. A result that is no number, such as the NaN of a missing field, is a
 * mistake: taken for zero it would give everybody everything back.
 */
function checkCharge(charge: boolean | Units): boolean | Units {
  if (typeof charge === 'boolean') return charge
  if (typeof charge !== 'object' || charge === null) return wholeUnits(charge, 'it')
  const rules = Object.entries(charge).filter(([, units]) => units !== undefined)
  return Object.fromEntries(rules.map(([rule, units]) => [rule, wholeUnits(units, rule)]))
}

function wholeUnits(units: unknown, what: string): number {
  if (typeof units === 'number' && units >= 0) return Math.min(Math.ceil(units), maxUnits)
  throw new SluiceError('SLUICE_INVALID_COST', `${what} is ${show(units)}; use true, false, or units from 0`)
}
