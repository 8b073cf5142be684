import { backoffMs } from '../../core/backoff.ts'
import type { Clock } from '../../core/clock.ts'
import { isSluiceError } from '../../core/errors.ts'
import { warn } from '../../core/observe/warn-once.ts'

/** How often a settlement is tried again, over about a minute. */
const mostTries = 9
/** For how long those that are given up are gathered for one warning. */
const gatherMs = 10_000

/**
 * Ends what responses held. A store that fails is asked again for a while: nobody else knows what a response cost. At
 * most so many wait for that; what is given up is warned of.
 */
export function settlements(clock: Clock, mostUnsettled = 10_000): (end: () => Promise<boolean>) => void {
  let unsettled = 0
  let lost = 0

  function giveUp(error: unknown): void {
    lost += 1
    if (lost > 1) return
    const failure = isSluiceError(error) ? error.code : 'an error'
    const tell = (): void => {
      const many = lost === 1 ? '1 response was' : `${lost} responses were`
      lost = 0
      warn('SLUICE_NOT_SETTLED', `What ${many} to be charged could not be settled (${failure}) and was given up.`)
    }
    clock.setTimeout(tell, gatherMs).unref?.()
  }

  async function retry(end: () => Promise<boolean>, first: unknown): Promise<void> {
    let error = first
    for (let attempt = 0; attempt < mostTries && isSluiceError(error) && error.transient; attempt++) {
      const ms = backoffMs(attempt, Math.random, { baseMs: 500 })
      await new Promise<void>((resolve) => clock.setTimeout(resolve, ms).unref?.())
      try {
        await end()
        return
      } catch (failure) {
        error = failure
      }
    }
    giveUp(error)
  }

  return (end) => {
    end().catch(async (error) => {
      if (unsettled >= mostUnsettled) return giveUp(error)
      unsettled += 1
      await retry(end, error)
      unsettled -= 1
    })
  }
}
