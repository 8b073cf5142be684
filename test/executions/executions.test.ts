import { createEgress } from 'sluice/egress'
import { describe, expect, test } from 'vitest'
import { startCountingVendor } from './counting-vendor.ts'
import { bodyOf, mayRepeat, type RandomCall, randomCall } from './random-call.ts'
import { type Ending, ways } from './ways.ts'

/** `SLUICE_SEED=7 SLUICE_CALLS=10000` makes other calls, or more of them. */
const seed = Number(process.env.SLUICE_SEED ?? 1)
const count = Number(process.env.SLUICE_CALLS ?? 300)
const attempts = 3
const budgets = {
  ample: { budgetPercent: 100, floorPerSecond: 1000 },
  // Nearly every retry is refused, so the first response is passed on late.
  scarce: { budgetPercent: 1, floorPerSecond: 1 },
}

// Some of the calls wait for the whole timeout, so all ways are tried at once.
describe.concurrent.each(Object.keys(ways))(
  'through %s, a call whose vendor refuses, fails or cuts its response',
  (name) => {
    test.each(['ample', 'scarce'] as const)(
      'is never executed more often than allowed, and ends once (%s budget)',
      async (budget) => {
        const { calls, endings, executions, retries } = await make(name, budgets[budget])
        for (const [i, call] of calls.entries()) {
          const about = JSON.stringify(call)
          expect(executions[i], about).toBeGreaterThan(0)
          expect(executions[i], about).toBeLessThanOrEqual(attempts)
          const repeated = call.reactions.slice(0, executions[i]! - 1)
          expect(repeated.filter((reaction) => !mayRepeat(call, reaction), about)).toEqual([])
          if (call.body === 'long stream') expect(executions[i], about).toBe(1)
          expect(endings[i], about).toEqual(expectedEnding(call, executions[i]!, name))
        }
        const repetitions = executions.reduce((sum, each) => sum + each - 1, 0)
        expect(retries).toBe(repetitions)
        if (budget === 'ample') expect(repetitions).toBeGreaterThan(count / 4)
      },
    )
  },
)

async function make(way: string, budget: (typeof budgets)['ample']) {
  const opened: { close(): Promise<unknown> }[] = []
  const random = numbers(seed)
  const calls = Array.from({ length: count }, (_, id) => randomCall(id, random))
  const vendor = await startCountingVendor(calls)
  opened.push(vendor)
  const upstream = {
    ...{ name: 'vendor', origin: vendor.origin, limits: { amount: 100_000, per: '1s' } },
    // Longer than any answer takes on a busy machine, as few calls are made at a time.
    timeout: '10s',
    retry: { attempts, base: '1ms', max: '4ms', ...budget },
  }
  const egress = await createEgress({
    policy: { service: 's', upstreams: [upstream] },
    // A refusal pauses one path, so that the calls do not wait for each other.
    hooks: { vendor: { scope: ({ path }) => path } },
  })
  opened.push(egress)
  let retries = 0
  egress.on('retried', () => retries++)
  const caller = await ways[way]!(egress, vendor.origin)
  opened.push(caller)
  const endings: Ending[] = []
  const rest = calls.values()
  const worker = async (): Promise<void> => {
    for (const call of rest) endings[call.id] = await caller.call(call)
  }
  await Promise.all(Array.from({ length: 20 }, worker))
  for (const each of opened.reverse()) await each.close()
  return { calls, endings, executions: calls.map((call) => vendor.executionsOf(call)), retries }
}

/** The caller gets the whole response to the last execution, or a failure where that was cut. */
function expectedEnding(call: RandomCall, executions: number, way: string): unknown {
  const reaction = call.reactions[executions - 1]!
  const { status, cut } = reaction
  const text = call.method === 'HEAD' ? '' : bodyOf(call, executions, reaction).join('')
  if (cut === undefined) return { status, text }
  const failure = { failure: expect.anything() }
  // To HEAD there is no body that could be cut.
  const hasHead = cut === 'after the head' || cut === 'in the body'
  const whole = hasHead && call.method === 'HEAD' ? [{ status, text }] : []
  const refused = way === 'the proxy' ? [502, 504].map((each) => ({ status: each, text: expect.any(String) })) : []
  return expect.toBeOneOf([failure, ...whole, ...refused])
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
function numbers(start: number): () => number {
  let state = start >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
