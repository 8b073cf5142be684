import { describe, expect, test } from 'vitest'
import type { Instant } from '../instant.ts'
import { InvalidationView, type Received, type Validity } from '../invalidation-view.ts'
import type { Invalidation, LogReply } from '../messages.ts'
import type { Mutation } from './mutation.ts'
import { runSchedule } from './run-schedule.ts'

const schedules = Number(process.env.SLUICE_SCHEDULES ?? 2000)

test(`no answer breaks a promise in ${schedules} schedules`, { timeout: 600_000 }, () => {
  const total = { fresh: 0, stale: 0, acknowledged: 0, rejected: 0, set: 0 }
  for (let seed = 1; seed <= schedules; seed++) {
    const result = runSchedule(seed)
    expect(result.violations).toEqual([])
    total.fresh += result.fresh
    total.stale += result.stale
    total.acknowledged += result.acknowledged
    total.rejected += result.rejected
    total.set += result.set
  }
  // A simulation in which nothing is answered or acknowledged would prove nothing.
  expect(total.fresh).toBeGreaterThan(20 * schedules)
  expect(total.stale).toBeGreaterThan(schedules)
  expect(total.acknowledged).toBeGreaterThan(3 * schedules)
  expect(total.rejected).toBeGreaterThan(schedules / 2)
  expect(total.set).toBeGreaterThan(schedules)
})

class IgnoresGaps extends InvalidationView {
  #proof: Instant = { monotonicMs: 0, wallMs: 0 }
  override synchronize(reply: LogReply, askedAt: Instant): boolean {
    if (askedAt.monotonicMs >= this.#proof.monotonicMs) this.#proof = askedAt
    return super.synchronize(reply, askedAt)
  }
  override receive(message: Invalidation): Received {
    const position = this.position
    if (position && message.generation === position.generation && message.sequence > position.sequence + 1) {
      super.synchronize(
        {
          ...{ ...message, isLast: true, since: 0, scopeFloor: 0, keyFloor: 0 },
          changes: message.scopes.map((s) => [s, message.sequence]),
        },
        this.#proof,
      )
      return 'applied'
    }
    return super.receive(message)
  }
}

class OneClock extends InvalidationView {
  override proven(monotonicMs: number): boolean {
    return super.proven(monotonicMs, this.#wallMs)
  }
  #wallMs = 0
  override synchronize(reply: LogReply, askedAt: Instant): boolean {
    this.#wallMs = askedAt.wallMs
    return super.synchronize(reply, askedAt)
  }
}

class ProvesByAnyPage extends InvalidationView {
  override synchronize(reply: LogReply, askedAt: Instant): boolean {
    return super.synchronize({ ...reply, isLast: true }, askedAt)
  }
}

class NeverUnproven extends InvalidationView {
  override proven(): boolean {
    return this.position !== undefined
  }
}

class IgnoresTags extends InvalidationView {
  override judge(subject: Parameters<InvalidationView['judge']>[0], watchedFrom?: number): Validity {
    return super.judge({ ...subject, scopes: [] }, watchedFrom)
  }
}

class ForgetsReadsInProgress extends InvalidationView {
  override judge(subject: Parameters<InvalidationView['judge']>[0]): Validity {
    return super.judge(subject, Infinity)
  }
}

class UnknownIsCurrent extends InvalidationView {
  override get epoch(): number {
    return 0
  }
  override judge(subject: Parameters<InvalidationView['judge']>[0], watchedFrom?: number): Validity {
    const validity = super.judge(subject, watchedFrom)
    return validity === 'unknown' ? 'valid' : validity
  }
}

const mutants: Record<string, Mutation> = {
  'stamps a value when its fetch has ended': { stampsAtEnd: true },
  'does not judge what a flight brings': { trustsFlights: true },
  'does not judge what Redis answered when it arrives': { trustsReads: true },
  'stores without checking the lock': { ignoresLocks: true },
  'reads from another server than it asked': { trustsAnyServer: true },
  'acknowledges before the proofs of others have ended': { acknowledgesEarly: true },
  'waits for its own proofs only': { waitsForOwnProofs: true },
  'counts the age of data from the end of its fetch': { datesFetchByEnd: true },
  'counts the age of a copy from before it was requested': { datesReadsTooEarly: true },
  'dates a proof by the reply': { datesProofByReply: true },
  'takes a missing log for an empty one': { missingIsZero: true },
  'continues the log of another node': { ignoresRunId: true },
  'forgets invalidations without a floor': { forgetsFloor: true },
  'takes unknown entries for current': { view: (limits) => new UnknownIsCurrent(limits) },
  'overlooks what happened during a read': { view: (limits) => new ForgetsReadsInProgress(limits) },
  'goes on after a gap': { view: (limits) => new IgnoresGaps(limits) },
  'reads a wall clock that ignores a suspend at first': { provesByCoarseTime: true },
  'believes the monotonic clock alone': { view: (limits) => new OneClock(limits) },
  'keeps what it read over what is newer': { keepsWhatItRead: true },
  'overlooks a rejected invalidation during a read': { forgetsRejected: true },
  'sets without a lock': { setsWithoutLock: true },
  'lets a fetch store over what was set meanwhile': { setsBesideLocks: true },
  'frees the lock of a set that an invalidation overtakes': { freesLocksOfSets: true },
  'does not judge what it set': { trustsSets: true },
  'takes the first page of the log for all of it': { view: (limits) => new ProvesByAnyPage(limits) },
  'needs no proof': { view: (limits) => new NeverUnproven(limits) },
  'checks keys but not tags and prefixes': { view: (limits) => new IgnoresTags(limits) },
}

/** Faults that few schedules show: where to look first, so that nobody waits for the hundreds before it. */
const rare: { readonly [Name in keyof typeof mutants]?: number } = {
  'waits for its own proofs only': 248,
  'counts the age of data from the end of its fetch': 1904,
  'continues the log of another node': 126,
  'reads a wall clock that ignores a suspend at first': 2928,
  'sets without a lock': 670,
  'takes the first page of the log for all of it': 394,
  'reads from another server than it asked': 7298,
  'frees the lock of a set that an invalidation overtakes': 14_082,
}

describe('the simulator catches a cache that', () => {
  test.each(Object.entries(mutants))('%s', { timeout: 120_000 }, (name, mutation) => {
    const first = rare[name] ?? 1
    let seed = first
    while (seed < first + 40_000 && runSchedule(seed, mutation).violations.length === 0) seed += 1
    expect(seed, 'the first schedule that shows the fault').toBeLessThan(first + 40_000)
  })
})
