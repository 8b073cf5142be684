import { createLimiter, type Decision, type Limiter } from 'sluice'
import type { Store } from 'sluice/store'
import type { Entry } from './descriptor.ts'
import { limitOf, type Unit } from './units.ts'

/** Most distinct limits that proxies may bring along; the one not used for longest makes way. */
const maxOverrides = 256
/** A key has at most this many parts. */
const maxParts = 32

export interface OverrideOptions {
  readonly store: Store
  readonly service: () => string
  readonly deadlineMs: number
  /** Lets metrics and logs follow a limiter. */
  readonly watch: (limiter: Limiter) => () => void
}

/**
 * Decides on descriptors that bring their own limit. Each distinct limit has a limiter of its own on the shared store.
 * Usage is kept by unit, not by amount, so changing the amount does not reset it.
 */
export class OverrideLimiters {
  readonly #options: OverrideOptions
  readonly #limiters = new Map<string, Promise<{ limiter: Limiter; end: () => void }>>()

  constructor(options: OverrideOptions) {
    this.#options = options
  }

  async take(domain: string, entries: readonly Entry[], unit: Unit, amount: number, cost: number): Promise<Decision> {
    const { limiter } = await this.#limiterOf(unit, amount)
    return limiter.take(keyOf(domain, entries), { cost })
  }

  async close(): Promise<void> {
    const all = [...this.#limiters.values()]
    this.#limiters.clear()
    await Promise.all(all.map(end))
  }

  #limiterOf(unit: Unit, amount: number): Promise<{ limiter: Limiter; end: () => void }> {
    const id = `${unit} ${amount}`
    const known = this.#limiters.get(id) ?? this.#make(unit, amount)
    // Taken out and put in again, it is the youngest.
    this.#limiters.delete(id)
    this.#limiters.set(id, known)
    if (this.#limiters.size > maxOverrides) {
      const [oldest, limiter] = this.#limiters.entries().next().value!
      this.#limiters.delete(oldest)
      void end(limiter)
    }
    return known
  }

  async #make(unit: Unit, amount: number): Promise<{ limiter: Limiter; end: () => void }> {
    const { store, service, deadlineMs, watch } = this.#options
    const rule = { name: `envoy-override-${unit.toLowerCase()}`, limits: limitOf(unit, amount) }
    const policy = { service: service(), rules: [rule] }
    const limiter = await createLimiter({ policy, store, deadline: deadlineMs })
    return { limiter, end: watch(limiter) }
  }
}

async function end(made: Promise<{ limiter: Limiter; end: () => void }>): Promise<void> {
  const { limiter, end } = await made
  end()
  await limiter.close()
}

function keyOf(domain: string, entries: readonly Entry[]): string[] {
  const parts = [domain, ...entries.flatMap(({ key, value }) => [key, value])]
  return parts.length <= maxParts ? parts : [JSON.stringify(parts)]
}
