import assert from 'node:assert/strict'
import { algorithmNames } from '../core/algorithms/index.ts'
import type { LimitAlgorithm } from '../core/algorithms/limit.ts'
import { checkOptionNames } from '../core/check-options.ts'
import { StoreError } from '../core/errors.ts'
import type { StoreAbilities } from '../stores/store.ts'
import { declaring } from './store-cases/abilities.ts'
import { NotHere, StoreBench, type StoreCase, type StoreUnderTest } from './store-cases/case.ts'
import { changing } from './store-cases/changing.ts'
import { holding } from './store-cases/holding.ts'
import { mixing } from './store-cases/mixing.ts'
import { placing } from './store-cases/placing.ts'
import { taking } from './store-cases/taking.ts'
import { timing } from './store-cases/timing.ts'
import type { TestFramework } from './test-framework.ts'

export type { StoreUnderTest } from './store-cases/case.ts'

export interface StoreConformanceOptions {
  /** What the store is, for the report. */
  readonly name: string
  /** Starts a store with nothing in it, and whatever it needs. */
  start(): Promise<StoreUnderTest>
  /**
   * The algorithms that the store knows; all unless said otherwise. Cases that need another are skipped, with the
   * reason.
   */
  readonly algorithms?: readonly LimitAlgorithm[]
  /** Whether the store keeps holds; it does unless said otherwise. */
  readonly holds?: boolean
  /**
   * The abilities that the store declares; none unless said otherwise. It must declare exactly these, so that an
   * ability that gets lost fails a case instead of skipping it.
   */
  readonly abilities?: readonly (keyof StoreAbilities)[]
  /** Cases that cannot pass here, by name, each with the reason; the report shows it. */
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
const cases: readonly StoreCase[] = [
  ...taking,
  ...holding,
  ...placing,
  ...changing,
  ...mixing,
  ...timing,
  ...declaring,
  closing,
]

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
export function storeConformance(framework: TestFramework, options: StoreConformanceOptions): void {
  checkOptionNames('storeConformance', options, ['name', 'start', 'algorithms', 'holds', 'abilities', 'skip'])
  const { describe, it, beforeAll, afterAll } = framework
  const { name, start, skip = {}, algorithms = algorithmNames, holds = true, abilities = [] } = options
  const unknown = Object.keys(skip).find((each) => !cases.some((known) => known.name === each))
  if (unknown !== undefined) throw new Error(`storeConformance: there is no case ${JSON.stringify(unknown)} to skip`)
  describe(`${name} as a store`, () => {
    let subject: StoreUnderTest
    let bench: StoreBench

    beforeAll(async () => {
      subject = await start()
      bench = new StoreBench(subject, { algorithms, holds, abilities })
    })

    afterAll(async () => {
      await subject?.stop()
    })

    for (const each of cases) {
      it(each.name, async (context) => {
        if (skip[each.name] !== undefined) return context.skip(skip[each.name]!)
        try {
          await each.check(bench)
        } catch (error) {
          if (!(error instanceof NotHere)) throw error
          context.skip(error.message)
        }
      })
    }
  })
}
