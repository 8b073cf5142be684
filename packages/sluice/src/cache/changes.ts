import { checkOptionNames } from '../core/check-options.ts'
import { invalidOption, SluiceError } from '../core/errors.ts'
import { sleep } from '../runtime/sleep.ts'
import type { InvalidateOptions, InvalidationTargets } from './cache.ts'
import type { Flights } from './flights/flights.ts'
import { type DefinedKey, type InvalidationTarget, keyOf } from './keys/cache-key.ts'
import { type EntryOptions, readEntryOptions } from './keys/key-spec.ts'
import type { L1 } from './l1/l1.ts'
import { makeEntry } from './l1/make-entry.ts'
import type { L2 } from './l2/l2.ts'
import type { CacheMonitor } from './monitor.ts'
import type { ResolvedOptions } from './options.ts'
import { expiryOf } from './protocol/messages.ts'

/** Changes what is cached, in this process and, through Redis, in all others. */
export class Changes {
  readonly #l1: L1
  readonly #l2: L2 | undefined
  readonly #flights: Flights
  readonly #options: ResolvedOptions
  readonly #monitor: CacheMonitor

  constructor(l1: L1, l2: L2 | undefined, flights: Flights, options: ResolvedOptions, monitor: CacheMonitor) {
    this.#l1 = l1
    this.#l2 = l2
    this.#flights = flights
    this.#options = options
    this.#monitor = monitor
  }

  /** Writes the value of a producer. */
  async set(key: DefinedKey, value: unknown, options: EntryOptions<never> | undefined): Promise<void> {
    const l1 = this.#l1
    const rules = options && readEntryOptions(options, 'set')
    const source = { value, rules, stamp: undefined, fetchMs: 0 }
    const made = makeEntry(key, source, l1.nowMs(), this.#options, this.#monitor)
    if (made === undefined)
      throw new SluiceError('SLUICE_INVALID_OPTION', `the value of ${key.spec.name} cannot be cached, or is too large`)
    const { entry } = made
    const { message, id } = this.#l2
      ? await this.#l2.set(key.encoded, made.write(), made.keepMs).catch((error) => {
          throw notConfirmed(`set ${key.spec.name}`, error)
        })
      : { message: l1.invalidateAlone([key.scope]), id: 0 }
    Object.assign(entry, { generation: message.generation, sequence: message.sequence, id })
    // An invalidation that was rejected meanwhile is later than this set.
    const validity = l1.view.judge(entry)
    if (validity !== 'valid' || this.#l2?.isUnsent(entry)) return
    l1.keep(entry, validity)
    this.#flights.replace(key.encoded, entry)
  }

  async invalidate(
    method: 'invalidate' | 'expire',
    target: InvalidationTargets,
    options: InvalidateOptions,
  ): Promise<{ readonly sent: boolean }> {
    const { scopes, mode, wait } = readInvalidation(method, target, options)
    if (scopes.length === 0) return { sent: true }
    const [l1, l2] = [this.#l1, this.#l2]
    if (l2 === undefined) {
      l1.invalidateAlone(scopes)
      this.#monitor.invalidated('sent', scopes.length)
      return { sent: true }
    }
    const { clock, redisDeadlineMs } = this.#options
    let { proofMs } = this.#options
    const endMs = clock.monotonic() + redisDeadlineMs
    try {
      const { applied, longestProofMs } = await l2.invalidate(scopes)
      proofMs = Math.max(proofMs, longestProofMs)
      if (!applied) this.#flights.invalidate(scopes)
    } catch (error) {
      // Redis may have executed it nevertheless. This process applies it now in any case, until Redis has it.
      l1.purge(scopes)
      this.#flights.invalidate(scopes)
      l2.sendLater(scopes, error)
      if (mode === 'strict' || wait > 0) throw notConfirmed('invalidate', error)
      return { sent: false }
    }
    if (wait > 0) {
      await l2.waitForReplicas(wait, Math.max(1, endMs - clock.monotonic())).catch((error) => {
        throw notConfirmed('invalidate', error)
      })
    }
    // Proofs that any process obtained before the invalidation end within this time. Clocks differ in rate a little.
    if (mode === 'strict') await sleep(proofMs * 1.01 + 2, clock, undefined)
    return { sent: true }
  }
}

/** An invalidation whose arguments make sense. */
interface InvalidationRequest {
  readonly scopes: readonly string[]
  readonly mode: 'fast' | 'strict'
  /** How many replicas must have it. */
  readonly wait: number
}

function readInvalidation(
  method: 'invalidate' | 'expire',
  target: InvalidationTargets,
  options: InvalidateOptions,
): InvalidationRequest {
  checkOptionNames(method, options, ['mode', 'wait'])
  const { mode = 'fast', wait = 0 } = options
  if (!Number.isInteger(wait) || wait < 0)
    throw invalidOption(`${method}.wait`, wait, 'use a number of replicas, such as 1')
  if (mode !== 'fast' && mode !== 'strict') throw invalidOption(`${method}.mode`, mode, 'use "fast" or "strict"')
  const targets = Array.isArray(target) ? target : [target]
  const scopes = targets.map((each) => {
    const { scope } = (typeof each === 'string' ? keyOf(each) : (each ?? {})) as Partial<InvalidationTarget>
    if (typeof scope === 'string') return method === 'expire' ? expiryOf(scope) : scope
    throw invalidOption(`${method} target`, each, 'use a key, keys.name.prefix(...), tag(name) or everything')
  })
  return { scopes, mode, wait }
}

/** The error of a change that Redis did not confirm. */
function notConfirmed(what: string, cause: unknown): SluiceError {
  return new SluiceError('SLUICE_STORE_FAILED', `Redis did not confirm ${what}`, { cause, transient: true })
}
