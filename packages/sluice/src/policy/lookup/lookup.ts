import type { Clock } from '../../core/clock.ts'
import { LargeMap } from '../../core/large-map.ts'
import { warnOnce } from '../../core/observe/warn-once.ts'
import { toError } from '../../core/to-error.ts'
import { Gate } from '../../runtime/gate.ts'
import { SingleFlight } from '../../runtime/single-flight.ts'
import { withinTime } from '../../runtime/within-time.ts'
import type { LimitsSpec } from '../document/document.ts'

/** The name of a tier, or limits; nothing for a key that has neither. */
export type LookupResult = string | Exclude<LimitsSpec, string> | null | undefined

/** Says the tier, or the limits, of a key. */
export type LookupFunction = (
  key: string,
  context: { readonly signal: AbortSignal },
) => LookupResult | Promise<LookupResult>

export interface ResolvedLookup {
  readonly get: LookupFunction
  readonly refreshMs: number
  readonly atOnce: number
  readonly timeoutMs: number
  readonly maxKeys: number
}

/** For how long a failure, or that a key is not known, is remembered. */
const unknownMs = 5000
/** How many wait for their turn; for more, the default holds at once. */
const maxWaiting = 64
/** Of how many the last is remembered. */
const maxLatest = 1000
/**
 * How many keys are remembered as not known, and so are asked for within that time. Apart from the others, so that
 * invented keys push none of them out.
 */
const maxUnknown = 10_000

/** Shared by the keys that were found together: a million keys are a million entries of a map and few objects. */
interface Found {
  /** The name of a tier, or limits as text. */
  readonly tier: string
  /** From when on it is asked for again. */
  readonly againMs: number
}

/** Keys are found together within this part of the time until they are asked for again. */
const togetherPart = 1 / 64

/**
 * What a function or a table says about keys, remembered. A key that is known is answered at once and refreshed in the
 * background; a key that is not is asked for once, by so many at a time, and whoever needs it can wait for that.
 */
export class Lookup {
  readonly #name: string
  readonly #options: ResolvedLookup
  readonly #clock: Clock
  readonly #gate: Gate
  readonly #flights = new SingleFlight<string, void>()
  /** In the order of their last refresh. */
  readonly #found = new LargeMap<Found>()
  /** By tier and for how long, what was found last. */
  readonly #latest = new Map<string, Found>()
  /** Until when each is not asked for again. */
  readonly #unknown = new Map<string, number>()
  readonly #pending: Set<Promise<void>>
  readonly #warn = warnOnce('SLUICE_LOOKUP_FAILED')

  /** What is met without being known goes into `pending`. */
  constructor(name: string, options: ResolvedLookup, clock: Clock, pending: Set<Promise<void>>) {
    this.#name = name
    this.#options = options
    this.#clock = clock
    this.#pending = pending
    const refusal = (): Error => new Error('too many lookups at once')
    this.#gate = new Gate({ limit: options.atOnce, queue: maxWaiting, maxWaitMs: options.timeoutMs, clock, refusal })
  }

  /** The tier of a key; undefined when it has none, or none is known yet. */
  tierOf(key: string): string | undefined {
    const nowMs = this.#clock.monotonic()
    const found = this.#found.get(key)
    if (found !== undefined) {
      if (nowMs >= found.againMs) this.#refresh(key, found, nowMs)
      return found.tier
    }
    if (nowMs < (this.#unknown.get(key) ?? 0)) return undefined
    // So many are not known that one more would push out one before its time: each could then be asked for again.
    if (this.#unknown.size >= maxUnknown && nowMs < this.#unknown.values().next().value!) return undefined
    // Who is refused for want of room is not remembered: it may be the turn of that key a moment later.
    if (this.#gate.inside >= this.#options.atOnce && this.#gate.waiting >= maxWaiting) return undefined
    this.#pending.add(this.#flights.join(key, () => this.#ask(key)))
    return undefined
  }

  /** The old value holds until there is a new one. */
  #refresh(key: string, found: Found, nowMs: number): void {
    this.#found.set(key, this.#foundOf(found.tier, nowMs, unknownMs))
    if (this.#gate.inside < this.#options.atOnce) void this.#flights.join(key, () => this.#ask(key))
  }

  /** Never rejects. */
  async #ask(key: string): Promise<void> {
    try {
      if (!this.#gate.tryEnter()) await this.#gate.turn()
    } catch {
      return
    }
    const { get, timeoutMs: ms, refreshMs } = this.#options
    const abort = new AbortController()
    const late = (): Error => new Error(`no answer within ${ms} ms`)
    try {
      const asked = Promise.resolve(get(key, { signal: abort.signal }))
      const limit = { ms, clock: this.#clock, late, givenUp: (reason: unknown) => abort.abort(reason) }
      const tier = await tierIn(await withinTime(asked, limit))
      if (tier === undefined) this.#forget(key)
      else this.#keep(key, this.#foundOf(tier, this.#clock.monotonic(), refreshMs))
    } catch (error) {
      this.#warn(`The lookup ${this.#name} failed, so that new keys have the default: ${toError(error).message}`)
      if (this.#found.get(key) === undefined) this.#forget(key)
    } finally {
      this.#gate.leave()
    }
  }

  #foundOf(tier: string, nowMs: number, forMs: number): Found {
    const againMs = nowMs + forMs
    // Keys that are refreshed by turns with others must not take each other's place.
    const kind = `${forMs} ${tier}`
    const latest = this.#latest.get(kind)
    if (latest && latest.againMs <= againMs && latest.againMs > againMs - forMs * togetherPart) return latest
    const found = { tier, againMs }
    this.#latest.set(kind, found)
    dropOldest(this.#latest, maxLatest)
    return found
  }

  #keep(key: string, found: Found): void {
    this.#unknown.delete(key)
    this.#found.delete(key)
    this.#found.set(key, found)
    dropOldest(this.#found, this.#options.maxKeys)
  }

  #forget(key: string): void {
    this.#found.delete(key)
    this.#unknown.delete(key)
    this.#unknown.set(key, this.#clock.monotonic() + unknownMs)
    dropOldest(this.#unknown, maxUnknown)
  }
}

function dropOldest(map: Pick<Map<string, unknown>, 'size' | 'keys' | 'delete'>, most: number): void {
  if (map.size > most) map.delete(map.keys().next().value!)
}

/** The name of a tier; limits become a text that stands for them. What is neither is an error. */
async function tierIn(result: LookupResult): Promise<string | undefined> {
  if (result === undefined || result === null) return undefined
  if (typeof result === 'string') return result
  const [{ limitsSpec }, { checkShape }] = await Promise.all([
    import('../document/schema/schema.ts'),
    import('../document/schema/schema-issues.ts'),
  ])
  const checked = checkShape(limitsSpec, result, 'limits', (path, _, message) => {
    throw new TypeError(`${path}: ${message}`)
  })
  return JSON.stringify(checked)
}
