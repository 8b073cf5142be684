import { expect, test } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import { Reachability, type ReachabilityOptions } from './reachability.ts'

/** A dependency whose probes the test counts; waits of 100, 200, 400 and 400 ms. */
function watched(options: Partial<ReachabilityOptions> = {}) {
  const clock = virtualClock()
  const seen: string[] = []
  const reachability = new Reachability({
    clock,
    random: () => 1,
    backoff: { baseMs: 100, maxMs: 400 },
    probe: () => void seen.push(`probe at ${clock.monotonic()}`),
    onChange: (state) => void seen.push(state),
    ...options,
  })
  return { clock, seen, reachability }
}

test('it is down after so many failures in a row, and not before', () => {
  const { reachability, seen } = watched({ failures: 2 })
  reachability.failed()
  reachability.answered()
  reachability.failed()
  expect(reachability.isDown).toBe(false)
  reachability.failed()
  expect(reachability.isDown).toBe(true)
  expect(seen).toEqual(['down'])
})

test('it is probed with waits that grow until it answers', async () => {
  const { reachability, seen, clock } = watched({})
  reachability.failed()
  for (const waitMs of [100, 200, 400, 400]) {
    await clock.advance(waitMs)
    reachability.failed()
  }
  reachability.answered()
  await clock.advance(10_000)
  expect(seen).toEqual(['down', 'probe at 100', 'probe at 300', 'probe at 700', 'probe at 1100', 'up'])
  expect(reachability.isDown).toBe(false)
})

test('failures of older calls neither add probes nor delay them', async () => {
  const { reachability, seen, clock } = watched({})
  reachability.failed()
  await clock.advance(50)
  for (let call = 0; call < 100; call++) reachability.failed()
  await clock.advance(50)
  expect(seen).toEqual(['down', 'probe at 100'])
  expect(clock.pending).toBe(0)
})

test('a probe can be made at once, in place of the one that was scheduled', async () => {
  const { reachability, seen, clock } = watched({})
  reachability.failed()
  reachability.probeNow()
  await clock.advance(1000)
  expect(seen).toEqual(['down', 'probe at 0'])
})

test('nothing is probed after it was closed', async () => {
  const { reachability, seen, clock } = watched({})
  reachability.failed()
  reachability.close()
  reachability.failed()
  reachability.probeNow()
  await clock.advance(10_000)
  expect(seen).toEqual(['down'])
  expect(clock.pending).toBe(0)
})
