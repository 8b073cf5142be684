// One of several processes that use one Redis at once. Receives its load by message; answers with what it was admitted.
import { Cluster, Redis } from 'ioredis'
import { storeOf } from 'sluice/store'
import type { Charge } from '../../packages/sluice/src/core/engine/ask.ts'
import { openRedis } from '../../packages/sluice/src/stores/redis/open-redis.ts'
import type { Store } from '../../packages/sluice/src/stores/store.ts'
import { waitFor } from '../../packages/sluice/src/testing/wait-for.ts'
import { chargeOf, type Load, type Outcome, patience, withinMs } from './load.ts'

const ports = process.argv.slice(2).map(Number)
const client =
  ports.length === 1
    ? new Redis({ port: ports[0]!, lazyConnect: true })
    : new Cluster(
        ports.map((port) => ({ port })),
        { lazyConnect: true },
      )
const store: Store = storeOf(openRedis(client, patience))

/**
 * Which subjects each ask is about: a walk that differs from process to process, and meets each of 1,000 subjects once.
 */
function* asks({ subjects, asks: count, perAsk }: Load): Generator<number[]> {
  const stride = [1, 3, 7, 9][process.pid % 4]! + 10 * (process.pid % 97)
  for (let i = 0; i < count; i++) {
    const first = (process.pid + i * stride) % subjects
    yield Array.from({ length: perAsk }, (_, k) => (first + k) % subjects)
  }
}

async function run(load: Load): Promise<Outcome> {
  const admitted: number[] = new Array(load.subjects).fill(0)
  const outcome: Outcome = { admitted, allowed: 0, denied: 0, failed: [] }
  const queue = asks(load)
  const lane = async (): Promise<void> => {
    for (const places of queue) {
      const charges: Charge[] = places.map((place) => chargeOf(load, place))
      try {
        const answer = await store.decide({ kind: 'take', charges, copies: 1, hold: undefined }, withinMs)
        if (answer.allowed) {
          outcome.allowed += 1
          for (const place of places) admitted[place]! += load.cost
        } else outcome.denied += 1
      } catch (error) {
        outcome.failed.push(String(error))
      }
    }
  }
  await Promise.all(Array.from({ length: load.inFlight }, lane))
  return outcome
}

process.on('message', async (load: Load | 'end') => {
  if (load !== 'end') {
    process.send!(await run(load))
    return
  }
  await store.close()
  client.disconnect()
  process.disconnect()
})
// Eight processes that start on two cores may not connect at the first attempt.
await waitFor(async () => (await store.health(withinMs)).reachable, { timeoutMs: 30_000, describe: 'a connection' })
process.send!('ready')
