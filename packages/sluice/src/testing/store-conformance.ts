import assert from 'node:assert/strict'
import { StoreError } from '../core/errors.ts'
import { changing } from './store-claims/changing.ts'
import { type Claim, StoreBench, type StoreUnderTest } from './store-claims/claim.ts'
import { holding } from './store-claims/holding.ts'
import { taking } from './store-claims/taking.ts'
import { timing } from './store-claims/timing.ts'

export type { StoreUnderTest } from './store-claims/claim.ts'

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

const closing: Claim = {
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
const claims: readonly Claim[] = [...taking, ...holding, ...changing, ...timing, closing]

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
  const unknown = Object.keys(skip).find((claim) => !claims.some((known) => known.name === claim))
  if (unknown !== undefined) throw new Error(`storeConformance: there is no claim ${JSON.stringify(unknown)} to skip`)
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

    for (const claim of claims) {
      const reason = skip[claim.name]
      if (reason === undefined) it(claim.name, () => claim.check(bench))
      else it.skip(`${claim.name} (not here: ${reason})`, () => claim.check(bench))
    }
  })
}
