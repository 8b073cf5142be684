import assert from 'node:assert/strict'
import { StoreError } from '../core/errors.ts'
import { StoreBench, type StoreCase, type StoreUnderTest } from './store-cases/case.ts'
import { changing } from './store-cases/changing.ts'
import { holding } from './store-cases/holding.ts'
import { mixing } from './store-cases/mixing.ts'
import { taking } from './store-cases/taking.ts'
import { timing } from './store-cases/timing.ts'

export type { StoreUnderTest } from './store-cases/case.ts'

/** The slice of a test framework that the suite needs; `vitest` has it. */
export interface StoreTestFramework {
  describe(name: string, body: () => void): unknown
  it: { (name: string, body: () => Promise<void>): unknown; skip(name: string, body: () => Promise<void>): unknown }
  beforeAll(body: () => Promise<void>): unknown
  afterAll(body: () => Promise<void>): unknown
}

export interface StoreConformanceOptions {
  /** What the store is, for the report. */
  readonly name: string
  /** Starts a store with nothing in it, and whatever it needs. */
  start(): Promise<StoreUnderTest>
  /** Claims that cannot be made here, by name, each with the reason; the report shows it. */
  readonly skip?: Readonly<Record<string, string>>
}

const closing: StoreCase = {
  name: 'asks after closing are refused with kind "closed", and closing twice is fine',
  async check(bench) {
    const charge = bench.charge([{ amount: 5, per: '1h' }])
    await bench.use(charge, 1)
    const inFlight = bench.take(charge).catch((error: unknown) => error)
    await bench.store.close()
    await bench.store.close()
    const settled = await inFlight
    assert.ok(settled instanceof StoreError || (settled as { allowed?: unknown }).allowed === true, `${settled}`)
    await assert.rejects(bench.take(charge), { code: 'SLUICE_CLOSED' })
  },
}

/** In the order in which they run: closing is the last. */
const cases: readonly StoreCase[] = [...taking, ...holding, ...changing, ...mixing, ...timing, closing]

/**
 * What every store must do, for your own ones too.
 *
 * @example
 * import { afterAll, beforeAll, describe, it } from 'vitest'
 * storeConformance({ afterAll, beforeAll, describe, it }, {
 *   name: 'etcdStore',
 *   start: async () => ({ store: etcdStore(), stop: async () => {} }),
 * })
 */
export function storeConformance(framework: StoreTestFramework, options: StoreConformanceOptions): void {
  const { describe, it, beforeAll, afterAll } = framework
  const { name, start, skip = {} } = options
  const unknown = Object.keys(skip).find((each) => !cases.some((known) => known.name === each))
  if (unknown !== undefined) throw new Error(`storeConformance: there is no each ${JSON.stringify(unknown)} to skip`)
  describe(`${name} as a store`, () => {
    let subject: StoreUnderTest
    let bench: StoreBench

    beforeAll(async () => {
      subject = await start()
      bench = new StoreBench(subject)
    })

    afterAll(async () => {
      await subject?.stop()
    })

    for (const each of cases) {
      const reason = skip[each.name]
      if (reason === undefined) it(each.name, () => each.check(bench))
      else it.skip(`${each.name} (not here: ${reason})`, () => each.check(bench))
    }
  })
}
