import { describe, expect, it } from 'vitest'
import { entryPoints } from './entry-points.ts'
import { optionRows } from './option-rows.ts'
import { optionTakers } from './option-takers.ts'

/** What looks like options of ours and is not. */
const others: Readonly<Record<string, string>> = {
  'SluiceError.constructor': 'the library makes errors, with what JavaScript gives all errors',
  'StoreError.constructor': 'like all errors',
  'PolicyError.constructor': 'like all errors',
  'MongoCollection.findOne': 'options of the MongoDB driver',
  'MongoCollection.replaceOne': 'options of the MongoDB driver',
  'MongoCollection.watch': 'options of the MongoDB driver',
  'Redis.command': 'needs a server; see open-redis.test.ts',
  'PipelineSource.read': 'the pipeline gives them, all of them',
  'InProcessBooking.grant': 'steps of the booking protocol, which egress makes',
  breakerOf: 'takes rules that are complete',
  delayOf: 'takes rules that are complete',
  next: 'takes rules that are complete',
  waitMs: 'takes rules that are complete',
}

describe.each(entryPoints)('sluice $subpath', ({ subpath, names }) => {
  const rows = Object.entries(optionRows[subpath] ?? {})

  it('has a row below for everything that takes options', () => {
    const takers = [...names].flatMap(([name, declared]) => optionTakers(name, declared))
    const missing = takers.filter((taker) => !(taker in others) && !rows.some(([name]) => name === taker))
    expect(missing).toEqual([])
  })

  it.each(rows)('%s refuses an unknown option and names the nearest', async (_, [known, call]) => {
    const mistyped = { [`${known}x`]: 1 } as never
    await expect((async () => call(mistyped))()).rejects.toMatchObject({
      code: 'SLUICE_INVALID_OPTION',
      message: expect.stringContaining(`${known}x is 1; did you mean "${known}"?`),
    })
  })
})
