import { checkOptionNames } from '../core/check-options.ts'
import { type BookingUnderTest, UpstreamBench } from './booking-cases/case.ts'
import { cases } from './booking-cases/cases.ts'
import type { TestFramework } from './test-framework.ts'

export type { BookingPort } from '../egress/booking/messages.ts'
export type { BookingUnderTest } from './booking-cases/case.ts'

export interface BookingConformanceOptions {
  /** What the port is, for the report. */
  readonly name: string
  start(): Promise<BookingUnderTest>
}

/**
 * What every port of booking must do: where the state of upstreams is kept, for `createEgress({ store })`.
 *
 * @example
 * import { afterAll, beforeAll, describe, it } from 'vitest'
 * bookingConformance({ afterAll, beforeAll, describe, it }, {
 *   name: 'etcdBooking',
 *   start: async () => ({ port: etcdBooking(), stop: async () => {} }),
 * })
 */
export function bookingConformance(framework: TestFramework, options: BookingConformanceOptions): void {
  checkOptionNames('bookingConformance', options, ['name', 'start'])
  const { describe, it, beforeAll, afterAll } = framework
  const { name, start } = options
  describe(`${name} as a port of booking`, () => {
    let subject: BookingUnderTest
    let upstreams: readonly UpstreamBench[]

    beforeAll(async () => {
      subject = await start()
      upstreams = cases.map(({ rules }) => new UpstreamBench(subject, rules))
      // A new state grants nothing for a while; all of them wait for that at the same time.
      await Promise.all(upstreams.map((upstream) => upstream.open()))
    })

    afterAll(async () => {
      await subject?.stop()
    })

    for (const [at, each] of cases.entries()) it(each.name, () => each.check(upstreams[at]!))
  })
}
