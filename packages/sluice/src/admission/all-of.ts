import type { Guard } from './guard.ts'
import type { Denial, Finish, GuardOutcome, ResponseEnd } from './outcome.ts'

export type DecidedByAll<Each> = Each extends Guard<never, infer Decided> ? Decided : never

/** For what was admitted by one guard and then refused by a later one: the response is the refusal. */
const refusedLater = (denial: Denial<unknown>): ResponseEnd => ({ status: denial.status, bytes: 0, completed: true })

/**
 * Asks several guards one after the other; the first that refuses ends it. Put the cheapest first: a request that is
 * shed should not spend quota.
 *
 * @example app.use(protect(allOf(shedding(capacity), limiterGuard(limiter))))
 */
export function allOf<Request, Guards extends readonly Guard<Request, unknown>[]>(
  ...guards: Guards
): Guard<Request, DecidedByAll<Guards[number]>> {
  type Decided = DecidedByAll<Guards[number]>
  return {
    get readsBody() {
      return guards.some((guard) => guard.readsBody === true)
    },
    async decide(view, request, gone) {
      const passing: GuardOutcome<Decided>[] = []
      try {
        for (const guard of guards) {
          const outcome = (await guard.decide(view, request, gone)) as GuardOutcome<Decided>
          if (outcome.denial !== undefined) {
            finishAll(passing, refusedLater(outcome.denial))
            return outcome
          }
          passing.push(outcome)
        }
      } catch (error) {
        finishAll(passing, { status: 500, bytes: 0, completed: true })
        throw error
      }
      const finishing = passing.filter(({ finish }) => finish !== undefined)
      return {
        decision: passing.findLast(({ decision }) => decision !== undefined)?.decision,
        headers: passing.flatMap(({ headers }) => headers),
        denial: undefined,
        finish: finishing.length === 0 ? undefined : finishOf(finishing),
      }
    },
  }
}

function finishOf(outcomes: readonly GuardOutcome<unknown>[]): Finish {
  const readUsage = outcomes.find(({ finish }) => finish?.readUsage)?.finish?.readUsage
  return Object.assign((end: ResponseEnd) => finishAll(outcomes, end), { readUsage })
}

/** Calls all of them, also after one that throws: what the others hold would stay open. */
function finishAll(outcomes: readonly GuardOutcome<unknown>[], end: ResponseEnd): void {
  const errors: unknown[] = []
  for (const { finish } of outcomes) {
    try {
      finish?.(end)
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}
