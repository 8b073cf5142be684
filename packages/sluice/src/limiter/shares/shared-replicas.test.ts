import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Answer, Charge } from '../../core/engine/ask.ts'
import { compilePolicy } from '../../policy/compile/compile-policy.ts'
import { openRedis } from '../../stores/redis/open-redis.ts'
import type { Store } from '../../stores/store.ts'
import { storeOf } from '../../stores/store-of.ts'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'

const [amount, periodMs] = [30, 150]
const guaranteed = { prod: 18, batch: 7, dev: 3 }
const classes = ['prod', 'batch', 'dev'] as const
type Class = (typeof classes)[number]

const [rule] = compilePolicy({
  service: 'shares',
  rules: [
    {
      name: 'r',
      key: 'ip',
      limits: { amount, per: `${periodMs}ms`, align: 'clock' },
      shares: { by: 'context.class', of: { prod: '60%', batch: '25%', dev: '10%' }, default: 'dev' },
    },
  ],
}).rules

let server: RedisServer
const replicas: { readonly client: Redis; readonly store: Store }[] = []

beforeAll(async () => {
  server = await startRedis()
  for (let r = 0; r < 2; r++) {
    const client = new Redis({ port: server.port, lazyConnect: true })
    replicas.push({ client, store: storeOf(openRedis(client)) })
  }
})
afterAll(async () => {
  for (const { client, store } of replicas) {
    await store.close()
    client.disconnect()
  }
  await server?.stop()
})

const none = (): Record<Class, number> => ({ prod: 0, batch: 0, dev: 0 })

/** What the documents say of shares, for windows that the clock begins. */
class Model {
  #window = 0
  #spent = none()
  #reserved = none()
  #wanted = none()
  /** Whether the class was denied below its share in the window before. */
  #promised = new Set<Class>()
  #denied = new Set<Class>()

  take(of: Class, cost: number, window: number): { allowed: boolean; isPromised: boolean; total: number } {
    if (window !== this.#window) this.#begin(window)
    const isBelow = this.#spent[of] + cost <= guaranteed[of]
    const others = classes.filter((name) => name !== of)
    const kept = others.reduce((sum, name) => sum + Math.max(0, this.#reserved[name] - this.#spent[name]), 0)
    const allowed = this.#total() + cost <= amount - kept
    if (allowed) this.#spent[of] += cost
    else if (isBelow) this.#denied.add(of)
    this.#wanted[of] = this.#denied.has(of) ? guaranteed[of] : Math.min(guaranteed[of], this.#spent[of])
    return { allowed, isPromised: isBelow && this.#promised.has(of), total: this.#total() }
  }

  #begin(window: number): void {
    const isNext = window === this.#window + 1
    this.#reserved = isNext ? this.#wanted : none()
    this.#promised = isNext ? this.#denied : new Set()
    this.#denied = new Set()
    this.#wanted = none()
    this.#spent = none()
    this.#window = window
  }

  #total(): number {
    return classes.reduce((sum, name) => sum + this.#spent[name], 0)
  }
}

const demand = fc.record({
  of: fc.constantFrom<Class>(...classes),
  cost: fc.constantFrom(1, 1, 1, 2, 5),
  times: fc.integer({ min: 1, max: 40 }),
})

async function ask(replica: number, of: Class, cost: number, subject: string): Promise<Answer> {
  const charge: Charge = { rule: rule!, subject, limits: rule!.limitsFor(subject, undefined, 0, of), cost }
  return replicas[replica]!.store.decide({ kind: 'take', charges: [charge], copies: 1, hold: undefined }, 20_000)
}

it('replicas on one Redis hold the limit and every share, decision for decision as the model', async () => {
  let [subject, promises] = [0, 0]
  const windows = new Set<number>()
  const random = fc.asyncProperty(fc.array(demand, { minLength: 20, maxLength: 60 }), async (demands) => {
    const model = new Model()
    subject += 1
    let turn = 0
    for (const { of, cost, times } of demands) {
      for (let i = 0; i < times; i++) {
        const { allowed, nowUs } = await ask(turn++ % 2, of, cost, `s${subject}`)
        const window = Math.floor(nowUs / 1000 / periodMs)
        windows.add(window)
        const expected = model.take(of, cost, window)
        expect({ of, cost, turn, allowed }).toEqual({ of, cost, turn, allowed: expected.allowed })
        expect(expected.total).toBeLessThanOrEqual(amount)
        if (!expected.isPromised) continue
        promises += 1
        expect(allowed, `${of} was denied below its share in the window before`).toBe(true)
      }
    }
  })
  // On a slow machine, a window may end before anybody was denied.
  while (promises < 20 || windows.size < 5) await fc.assert(random, { numRuns: 10, endOnFailure: true })
}, 120_000)

it('replicas that ask at once never spend more than the limit in a window', async () => {
  const byWindow = new Map<number, number>()
  const one = async (replica: number, i: number): Promise<void> => {
    const { allowed, nowUs } = await ask(replica, classes[i % 3]!, 1, 'at-once')
    const window = Math.floor(nowUs / 1000 / periodMs)
    if (allowed) byWindow.set(window, (byWindow.get(window) ?? 0) + 1)
  }
  while (byWindow.size < 5) await Promise.all(Array.from({ length: 200 }, (_, i) => one(i % 2, Math.floor(i / 2))))
  for (const spent of byWindow.values()) expect(spent).toBeLessThanOrEqual(amount)
})
