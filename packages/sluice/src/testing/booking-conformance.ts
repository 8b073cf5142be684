import assert from 'node:assert/strict'
import { checkOptionNames } from '../core/check-options.ts'
import { exchange } from '../egress/booking/exchange.ts'
import type { Exchange, ExchangeReply } from '../egress/booking/messages.ts'
import { newState } from '../egress/booking/state.ts'
import { randomHistory } from '../egress/testing/random-history.ts'
import { BookingBench, type BookingCase, type BookingUnderTest } from './booking-cases/case.ts'
import { places } from './booking-cases/places.ts'
import { waiting } from './booking-cases/waiting.ts'
import type { TestFramework } from './test-framework.ts'

export type { BookingPort } from '../egress/places/ports/booking-port.ts'
export type { BookingUnderTest } from './booking-cases/case.ts'

export interface BookingConformanceOptions {
  /** What the port is, for the report. */
  readonly name: string
  start(): Promise<BookingUnderTest>
  /** How many random histories are compared with the engine; 30 unless said otherwise. */
  readonly histories?: number
}

/** What does not depend on when an exchange ran. */
function timeless({ results, held, depth, used, known, recovering }: ExchangeReply): object {
  const plain = results.map((result) =>
    'ahead' in result ? { is: result.is, ahead: result.ahead } : { is: result.is },
  )
  return { results: plain, held, depth, used, known, recovering }
}

/** Steps whose outcome is the same at any speed. */
const timelessSteps: ReadonlySet<string> = new Set(['book', 'cancel', 'answered', 'done', 'free', 'register'])

function histories(count: number): BookingCase {
  return {
    name: `does what the engine does, exchange by exchange, in ${count} random histories`,
    async check(bench) {
      for (let seed = 1; seed <= count; seed++) {
        const history = randomHistory(seed, 40)
        const upstream = await bench.upstream(withoutTime(history[0]!).rules)
        const state = newState(0)
        exchange(state, { owner: 'founder', sinceMs: -1, rules: upstream.rules, steps: [{ op: 'leave' }] }, 0)
        for (const [at, asked] of history.map(withoutTime).entries()) {
          const wanted = timeless(exchange(state, asked, 0))
          const found = timeless(await bench.port.exchange(upstream.name, asked, 10_000))
          assert.deepEqual(found, wanted, `history ${seed}, exchange ${at}: ${JSON.stringify(asked.steps)}`)
        }
      }
    },
  }
}

/** The same exchange, such that it does not matter how long the port takes for it. */
function withoutTime({ owner, rules, steps }: Exchange): Exchange {
  const kept = steps.filter(({ op }) => timelessSteps.has(op))
  const plain = kept.map((step) =>
    // Calls of one instant would be ordered by the time at which the port sees them.
    step.op === 'book' ? { ...step, priorityMs: 0, waitedMs: 0, maxWaitMs: 1e9, scope: '' } : step,
  )
  return { owner, sinceMs: -1, rules: { ...rules, heldMs: 1e7 }, steps: plain }
}

/**
 * What every port of booking must do: where the places of upstreams are kept, for `createEgress({ store })`.
 *
 * @example
 * import { afterAll, beforeAll, describe, it } from 'vitest'
 * bookingConformance({ afterAll, beforeAll, describe, it }, {
 *   name: 'etcdBooking',
 *   start: async () => ({ port: etcdBooking(), stop: async () => {} }),
 * })
 */
export function bookingConformance(framework: TestFramework, options: BookingConformanceOptions): void {
  checkOptionNames('bookingConformance', options, ['name', 'start', 'histories'])
  const { describe, it, beforeAll, afterAll } = framework
  const { name, start, histories: count = 30 } = options
  describe(`${name} as a port of booking`, () => {
    let subject: BookingUnderTest
    let bench: BookingBench

    beforeAll(async () => {
      subject = await start()
      bench = new BookingBench(subject)
    })

    afterAll(async () => {
      await subject?.stop()
    })

    for (const each of [...places, ...waiting, histories(count)]) it(each.name, () => each.check(bench))
  })
}
