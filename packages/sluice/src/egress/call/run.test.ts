import { afterEach, describe, expect, test } from 'vitest'
import type { UpstreamSpec } from '../../policy/document/upstream-spec.ts'
import { createEgress } from '../create-egress.ts'
import type { Egress } from '../egress.ts'
import { mostInAnyPeriod } from '../testing/vendor.ts'

const opened: Egress[] = []
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close({ within: 100 })
})

async function egressOf(spec: Partial<UpstreamSpec>): Promise<Egress> {
  const egress = await createEgress({ policy: { service: 's', upstreams: [{ name: 'mail', ...spec }] } })
  opened.push(egress)
  return egress
}

describe('work that is run within the limits of an upstream', () => {
  test('needs no origin, returns what it returns, and begins no more often than the limit allows', async () => {
    const egress = await egressOf({ limits: { amount: 5, per: '100ms' } })
    const begun: number[] = []
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        egress.run('mail', async () => {
          begun.push(performance.now())
          return i
        }),
      ),
    )
    expect(results).toEqual(Array.from({ length: 20 }, (_, i) => i))
    expect(mostInAnyPeriod(begun, 100)).toBeLessThanOrEqual(5)
    await expect(egress.request({ upstream: 'mail', path: '/', method: 'GET' })).rejects.toThrow(/has no origin/)
  })

  test('counts as arriving until it settles: the next begins a period after that', async () => {
    const egress = await egressOf({ limits: { amount: 1, per: '200ms' } })
    let settledMs = 0
    const first = egress.run('mail', async () => {
      const begunMs = performance.now()
      await expect.poll(() => performance.now() - begunMs).toBeGreaterThan(250)
      settledMs = performance.now()
    })
    const nextMs = await egress.run('mail', () => performance.now())
    await first
    expect(nextMs - settledMs).toBeGreaterThanOrEqual(200)
  })

  test('does not count as failed once its caller has aborted it, however long it goes on', async () => {
    const egress = await egressOf({ limits: { rps: 5 }, timeout: '50ms' })
    const failed: unknown[] = []
    egress.on('failed', (event) => failed.push(event))
    const controller = new AbortController()
    let isBegun = false
    const goOn = (): Promise<never> => {
      isBegun = true
      return new Promise(() => {})
    }
    const work = egress.run('mail', goOn, { signal: controller.signal })
    await expect.poll(() => isBegun).toBe(true)
    controller.abort()
    await expect(work).rejects.toMatchObject({ name: 'AbortError' })
    const abortedMs = performance.now()
    await expect.poll(() => performance.now() - abortedMs).toBeGreaterThan(150)
    expect(failed).toEqual([])
  })

  test('counts as sent when it throws, and is not repeated', async () => {
    const egress = await egressOf({ limits: { amount: 1, per: '200ms' } })
    const begun: number[] = []
    const throwing = (): never => {
      begun.push(performance.now())
      throw new TypeError('no such mailbox')
    }
    await expect(egress.run('mail', throwing)).rejects.toThrow('no such mailbox')
    await egress.run('mail', () => begun.push(performance.now()))
    expect(begun).toHaveLength(2)
    expect(begun[1]! - begun[0]!).toBeGreaterThanOrEqual(200)
  })

  test('is repeated as often as the caller asks for', async () => {
    const egress = await egressOf({ limits: { rps: 100 }, retry: { base: '1ms', max: '2ms', budgetPercent: 100 } })
    let tries = 0
    const second = await egress.run(
      'mail',
      async () => {
        tries += 1
        if (tries < 3) throw new Error('busy')
        return tries
      },
      { attempts: 3 },
    )
    expect(second).toBe(3)
    await expect(
      egress.run('mail', () => Promise.reject(new Error(`try ${++tries}`)), { attempts: 2 }),
    ).rejects.toThrow('try 5')
  })

  test('leaves the queue when its caller aborts, and is told so when it has begun', async () => {
    const egress = await egressOf({ limits: { amount: 1, per: '10s' } })
    const leaving = new AbortController()
    let inner: AbortSignal | undefined
    const begun = egress.run(
      'mail',
      (signal) => {
        inner = signal
        return new Promise(() => {})
      },
      { signal: leaving.signal },
    )
    const waiting = egress.run('mail', () => 'never', { signal: leaving.signal })
    for (const each of [begun, waiting]) each.catch(() => {})
    await expect.poll(() => inner).toBeDefined()
    leaving.abort(new Error('enough'))
    await expect(begun).rejects.toThrow('enough')
    await expect(waiting).rejects.toThrow('enough')
    expect(inner!.reason).toEqual(new Error('enough'))
    expect(egress.stats()[0]).toMatchObject({ waiting: 0, granted: 1 })
    await expect(egress.run('mail', () => 1, { signal: AbortSignal.abort() })).rejects.toThrow(/aborted/)
  })

  test('is refused when it would wait too long, and fails when it takes too long', async () => {
    const egress = await egressOf({ limits: { amount: 1, per: '10s' }, timeout: '50ms' })
    let reason: unknown
    const late = egress.run('mail', (signal) => {
      signal.onabort = () => {
        reason = signal.reason
      }
      return new Promise(() => {})
    })
    await expect(late).rejects.toMatchObject({ reason: 'timeout', upstream: 'mail' })
    expect(reason).toMatchObject({ reason: 'timeout' })
    await expect(egress.run('mail', () => 1, { maxWait: '10ms' })).rejects.toMatchObject({ reason: 'wait-too-long' })
    expect(egress.stats()[0]).toMatchObject({ failures: { timeout: 1 }, refused: { 'wait-too-long': 1 } })
    // @ts-expect-error no such option
    await expect(egress.run('mail', () => 1, { attemps: 2 })).rejects.toThrow(/did you mean "attempts"/)
    await expect(egress.run('male', () => 1)).rejects.toThrow(/no upstream "male"/)
    // @ts-expect-error nothing to run
    await expect(egress.run('mail')).rejects.toThrow(/pass a function/)
  })
})
