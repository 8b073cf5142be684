import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { defaultCapacity } from '../policy/capacity/compile-capacity.ts'
import { staticPolicy } from '../policy/live/source.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { createCapacity } from './create-capacity.ts'
import { delayPoints, scale, smooth, utilisationPoints } from './load/scale.ts'
import { nextRow, rowFor } from './table.ts'

describe('the table', () => {
  it.each([
    [0, 100, 100, 8],
    [39.99, 100, 100, 8],
    [40, 50, 1000, 1],
    [59.99, 50, 1000, 1],
    [60, 20, 2000, 1],
    [80, 10, 5000, 1],
    [94.99, 10, 5000, 1],
  ])('at %d%% allows batches of %d every %d ms, %d in flight', (load, maxBatchSize, delayMs, maxInFlight) => {
    expect(rowFor(defaultCapacity, load)).toMatchObject({ maxBatchSize, delayMs, maxInFlight })
  })

  it('is not ready from 95% on', () => {
    expect(rowFor(defaultCapacity, 95)).toBeUndefined()
    expect(rowFor(defaultCapacity, 100)).toBeUndefined()
  })

  it('uses a heavier row at once, and a lighter one only five points below its edge', () => {
    const heavy = nextRow(defaultCapacity, 61, rowFor(defaultCapacity, 10))
    expect(heavy?.below).toBe(80)
    expect(nextRow(defaultCapacity, 58, heavy)?.below).toBe(80)
    expect(nextRow(defaultCapacity, 54.9, heavy)?.below).toBe(60)
    expect(nextRow(defaultCapacity, 93, undefined)).toBeUndefined()
    expect(nextRow(defaultCapacity, 89.9, undefined)?.below).toBe(95)
    expect(nextRow(defaultCapacity, 1, undefined)?.below).toBe(40)
  })

  it('never answers with a lighter row than the load requires', () => {
    const load = fc.double({ min: 0, max: 100, noNaN: true })
    fc.assert(
      fc.property(fc.array(load, { minLength: 1, maxLength: 30 }), (loads) => {
        let row: ReturnType<typeof nextRow> | 'none' = 'none'
        for (const each of loads) {
          row = nextRow(defaultCapacity, each, row)
          expect(row === undefined || row.below > each).toBe(true)
        }
      }),
    )
  })
})

describe('the load', () => {
  it('rises fast and falls slowly', () => {
    expect(smooth(0, 100, 1000)).toBeCloseTo(63.2, 0)
    expect(smooth(100, 0, 1000)).toBeCloseTo(90.5, 0)
    expect(smooth(50, 50, 1000)).toBe(50)
  })

  it('never reaches the load at which requests are shed by utilisation alone', () => {
    expect(scale(1, utilisationPoints)).toBeLessThan(80)
    expect(scale(20, delayPoints)).toBe(50)
    expect(scale(500, delayPoints)).toBe(100)
  })

  it('survives a measure that throws or is not a number, and names what caused it', async () => {
    const clock = virtualClock()
    const loads = [60, Number.NaN, 0]
    const capacity = await createCapacity({
      clock,
      process: false,
      load: () => loads.shift() ?? 0,
      waiting: () => {
        if (loads.length === 2) throw new Error('no pool')
        return 0
      },
    })
    await clock.advance('250ms')
    expect(capacity.load).toMatchObject({ rawPercent: 60, cause: 'own measure 60%' })
    await clock.advance('250ms')
    // Unknown is not idle.
    expect(capacity.load).toMatchObject({ rawPercent: 50, cause: 'waiting time cannot be read' })
    await clock.advance('250ms')
    expect(capacity.load).toMatchObject({ rawPercent: 0, cause: 'idle' })
    await capacity.close()
    expect(clock.pending).toBe(0)
  })
})

describe('an answer', () => {
  async function atLoad(load: number) {
    const clock = virtualClock()
    const capacity = await createCapacity({ clock, process: false, load: () => load })
    await clock.advance('60s')
    return { clock, capacity }
  }

  it('has the row of the smoothed load', async () => {
    const { capacity } = await atLoad(65)
    expect(capacity.answer('a')).toEqual({
      ready: true,
      maxBatchSize: 20,
      delayBetweenBatches: 2000,
      maxInFlight: 1,
      retryAfter: null,
      loadPercent: 65,
      message: 'own measure 65%',
    })
    await capacity.close()
  })

  it('states when to try again when it is not ready', async () => {
    const { capacity } = await atLoad(99)
    expect(capacity.answer('a')).toMatchObject({ ready: false, retryAfter: 30, maxBatchSize: 0 })
    await capacity.close()
  })

  it('divides a row among all that asked in the last 30 s, by the delay', async () => {
    const { capacity, clock } = await atLoad(10)
    const delays = Array.from({ length: 200 }, (_, i) => capacity.answer(`shipper-${i}`).delayBetweenBatches)
    expect(delays[0]).toBe(100)
    expect(delays[199]).toBe(20_000)
    expect(capacity.answer('shipper-0').delayBetweenBatches).toBe(20_000)
    await clock.advance('30s')
    expect(capacity.answer('shipper-0')).toMatchObject({ delayBetweenBatches: 100, maxBatchSize: 100 })
    await capacity.close()
  })

  it('follows the table of a policy', async () => {
    const table = [{ below: 50, maxBatchSize: 7, delay: '3s' }]
    const policy = staticPolicy({
      service: 's',
      capacity: { table, retryAfter: '90s' },
      rules: [{ name: 'r', limits: { rpm: 1 } }],
    })
    const clock = virtualClock()
    const capacity = await createCapacity({ clock, process: false, policy })
    expect(capacity.answer('a')).toMatchObject({ maxBatchSize: 7, delayBetweenBatches: 3000 })
    await capacity.close()
  })

  it('is refused with wrong options, naming what would be right', async () => {
    await expect(createCapacity({ maxInflight: 5 } as never)).rejects.toThrow(/did you mean "maxInFlight"/)
    await expect(createCapacity({ table: [{ below: 50, maxBatchSize: 1, delay: 'soon' }] })).rejects.toThrow(
      /use a number with a unit/,
    )
    const falling = [
      { below: 50, maxBatchSize: 1, delay: '1s' },
      { below: 40, maxBatchSize: 1, delay: '1s' },
    ]
    await expect(createCapacity({ table: falling })).rejects.toThrow(/rising load/)
  })

  it('measures this process without leaving anything behind', async () => {
    const capacity = await createCapacity()
    expect(capacity.stats()).toMatchObject({ ready: true, senders: 0, inFlight: 0, admitShare: 1 })
    await capacity.close()
  })
})
