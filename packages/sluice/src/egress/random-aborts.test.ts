import { expect, test } from 'vitest'
import { seeded } from './booking/simulation/random-history.ts'
import { createEgress } from './create-egress.ts'
import { mostInAnyPeriod, startVendor } from './testing/vendor.ts'

/** `SLUICE_ABORTS=10000` makes as many. */
const calls = Number(process.env.SLUICE_ABORTS ?? 1500)

test('calls that are aborted at any moment return what they took, and the vendor never sees more than the limit', async () => {
  const random = seeded(7)
  const vendor = await startVendor((asked, response) => {
    const answer = (): void => {
      response.write('begun')
      setTimeout(() => response.end('ended'), random() * 4)
    }
    asked.resume().on('end', () => setTimeout(answer, random() * 4))
  })
  const [amount, periodMs] = [200, 1000]
  const upstream = {
    ...{ name: 'vendor', origin: vendor.origin, limits: { amount, per: `${periodMs}ms` }, concurrency: 40 },
    // This process is both sides, and Node accepts one connection per turn of its event loop: it reads what it wrote
    // late.
    ...{ timeout: '10s', maxWait: '1h', maxQueue: calls, arrival: '5s' },
  }
  const egress = await createEgress({ policy: { service: 's', upstreams: [upstream] } })
  const outcomes = { ended: 0, failed: 0 }
  const one = (): Promise<void> =>
    new Promise((resolve) => {
      let isOver = false
      const over = (outcome: 'ended' | 'failed'): void => {
        expect(isOver).toBe(false)
        isOver = true
        outcomes[outcome] += 1
        resolve()
      }
      const giveUp = egress.send(
        { upstream: 'vendor', path: '/', method: 'POST', body: 'hello' },
        {
          responded: () => true,
          data: () => true,
          ended: () => over('ended'),
          failed: () => over('failed'),
        },
      )
      // While it waits, connects, is written, is being answered, or is over.
      const at = random()
      if (at < 0.1) giveUp(new Error('at once'))
      else if (at < 0.2) setImmediate(() => giveUp(new Error('in the next turn')))
      else if (at < 0.9) setTimeout(() => giveUp(new Error('later')), random() * 100)
    })
  const worker = async (share: number): Promise<void> => {
    for (let i = 0; i < share; i++) await one()
  }
  await Promise.all(Array.from({ length: 50 }, () => worker(calls / 50)))
  expect(outcomes.ended + outcomes.failed).toBe(calls)
  expect(Math.min(outcomes.ended, outcomes.failed)).toBeGreaterThan(calls / 20)
  // No place is left occupied: an exchange after the last period shows what is taken.
  const stats = () => egress.stats()[0]!
  await expect.poll(() => stats().inFlight).toBe(0)
  await new Promise((resolve) => setTimeout(resolve, periodMs * 3))
  await (await egress.fetch(vendor.origin, { method: 'POST', body: 'x' })).text()
  await expect.poll(() => stats().limits.map(({ used }) => used)).toEqual(stats().limits.map(() => 0))
  expect(stats()).toMatchObject({ waiting: 0, inFlight: 0, depth: 0 })
  expect(mostInAnyPeriod(vendor.arrivals, periodMs)).toBeLessThanOrEqual(amount)
  await egress.close()
  await vendor.close()
}, 120_000)
