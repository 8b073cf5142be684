import type { Contender, Setup } from './contender.ts'

interface Outcome {
  readonly allowed: boolean
  readonly limits: readonly { readonly amount: number; readonly remaining: number; readonly resetMs: number }[]
}

/**
 * About the least that a limiter can do in memory and still report the state of each limit: a map, an array of numbers
 * and the time. No policy, no keys of several parts, no costs, no bound on memory. Anything faster must leave something
 * out.
 */
export async function open({ limits }: Setup): Promise<Contender<Outcome>> {
  const stride = 2 * limits.length
  const slots = new Map<string, number>()
  const n = new Float64Array(stride * 20_000)

  function decide(subject: string): Outcome {
    const nowMs = Date.now()
    let slot = slots.get(subject)
    if (slot === undefined) {
      slot = slots.size
      slots.set(subject, slot)
    }
    const at = slot * stride
    let allowed = true
    for (let l = 0; l < limits.length; l++) {
      const i = at + 2 * l
      if (nowMs - n[i]! >= limits[l]!.seconds * 1000) {
        n[i] = nowMs
        n[i + 1] = 0
      }
      if (n[i + 1]! >= limits[l]!.amount) allowed = false
    }
    const statuses = new Array<Outcome['limits'][number]>(limits.length)
    for (let l = 0; l < limits.length; l++) {
      const i = at + 2 * l
      const { amount, seconds } = limits[l]!
      if (allowed) n[i + 1]! += 1
      statuses[l] = { amount, remaining: amount - n[i + 1]!, resetMs: n[i]! + seconds * 1000 - nowMs }
    }
    return { allowed, limits: statuses }
  }

  return {
    decide: (subject) => Promise.resolve(decide(subject)),
    allowed: (outcome) => outcome.allowed,
    async close() {},
  }
}
