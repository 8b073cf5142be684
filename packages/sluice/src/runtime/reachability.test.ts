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
    ...options,
  })
  return { clock, seen, reachability }
}

test('it is down after so many failures in a row, and not before', () => {
  const { reachability } = watched({ failures: 2 })
  expect([reachability.failed(), reachability.answered(), reachability.failed()]).toEqual([false, false, false])
  expect(reachability.isDown).toBe(false)
  expect(reachability.failed()).toBe(true)
  expect(reachability.isDown).toBe(true)
  expect([reachability.failed(), reachability.answered()]).toEqual([false, true])
})

test('it is probed with waits that grow until it answers', async () => {
  const { reachability, seen, clock } = watched({})
  reachability.failed()
  for (const waitMs of [100, 200, 400, 400]) {
    await clock.advance(waitMs)
    expect(reachability.failed()).toBe(false)
  }
  expect(reachability.answered()).toBe(true)
  await clock.advance(10_000)
  expect(seen).toEqual(['probe at 100', 'probe at 300', 'probe at 700', 'probe at 1100'])
  expect(reachability.isDown).toBe(false)
})

test('failures of older calls neither add probes nor delay them', async () => {
  const { reachability, seen, clock } = watched({})
  reachability.failed()
  await clock.advance(50)
  for (let call = 0; call < 100; call++) reachability.failed()
  await clock.advance(50)
  expect(seen).toEqual(['probe at 100'])
  expect(clock.pending).toBe(0)
})

test('a probe can be made at once, in place of the one that was scheduled', async () => {
  const { reachability, seen, clock } = watched({})
  reachability.failed()
  reachability.probeNow()
  await clock.advance(1000)
  expect(seen).toEqual(['probe at 0'])
})

test('nothing is probed after it was closed', async () => {
  const { reachability, seen, clock } = watched({})
  reachability.failed()
  reachability.close()
  reachability.failed()
  reachability.probeNow()
  await clock.advance(10_000)
  expect(seen).toEqual([])
  expect(clock.pending).toBe(0)
})

test('what is known to be lost is down at once and is probed', async () => {
  const { reachability, seen, clock } = watched({ failures: 3 })
  expect([reachability.failed(), reachability.lost(), reachability.lost()]).toEqual([false, true, false])
  expect(reachability.isDown).toBe(true)
  await clock.advance(100)
  expect(seen).toEqual(['probe at 100'])
  expect(reachability.answered()).toBe(true)
})
