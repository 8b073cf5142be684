import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Cluster, Redis } from 'ioredis'
import { storeOf } from 'sluice/store'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRedis } from '../../packages/sluice/src/stores/redis/open-redis.ts'
import type { Store } from '../../packages/sluice/src/stores/store.ts'
import { startCluster } from '../../packages/sluice/src/testing/servers/cluster.ts'
import { startRedis } from '../../packages/sluice/src/testing/servers/redis.ts'
import { waitFor } from '../../packages/sluice/src/testing/wait-for.ts'
import { bundled } from '../bundled.ts'
import { chargeOf, type Load, type Outcome, patience, withinMs } from './load.ts'

const processes = 8
const inFlight = 64

interface Servers {
  readonly ports: readonly number[]
  stop(): Promise<void>
}

const topologies: Readonly<Record<string, () => Promise<Servers>>> = {
  'one Redis': async () => {
    const server = await startRedis()
    return { ports: [server.port], stop: () => server.stop() }
  },
  'a Redis Cluster': async () => {
    const cluster = await startCluster({ replicas: 0 })
    return { ports: cluster.nodes.map(({ port }) => port), stop: () => cluster.stop() }
  },
}

for (const [name, start] of Object.entries(topologies)) {
  describe(`${processes} processes with ${inFlight} asks in flight each, on ${name}`, () => {
    let servers: Servers
    let workers: ChildProcess[] = []
    let client: Redis | Cluster
    let store: Store

    beforeAll(async () => {
      servers = await start()
      const worker = await bundled(join(import.meta.dirname, 'worker.ts'))
      workers = Array.from({ length: processes }, () => fork(worker, servers.ports.map(String), { execArgv: [] }))
      const [port] = servers.ports
      client =
        servers.ports.length === 1
          ? new Redis({ port: port!, lazyConnect: true })
          : new Cluster([{ port: port! }], { lazyConnect: true })
      store = storeOf(openRedis(client, patience))
      await Promise.all(workers.map((each) => once(each, 'message')))
    }, 120_000)

    afterAll(async () => {
      const gone = workers.map((each) => (each.exitCode === null ? once(each, 'exit') : undefined))
      for (const each of workers) if (each.connected) each.send('end')
      await Promise.all(gone)
      await store?.close()
      client?.disconnect()
      await servers?.stop()
    })

    /** Runs the same load in all processes at once, and adds up what they were admitted. */
    async function together(load: Load): Promise<Outcome> {
      const outcomes = workers.map(async (each) => (await once(each, 'message'))[0] as Outcome)
      for (const each of workers) each.send(load)
      const all = await Promise.all(outcomes)
      const sum = (pick: (outcome: Outcome) => number): number => all.reduce((total, one) => total + pick(one), 0)
      return {
        admitted: Array.from({ length: load.subjects }, (_, s) => sum(({ admitted }) => admitted[s]!)),
        allowed: sum(({ allowed }) => allowed),
        denied: sum(({ denied }) => denied),
        failed: all.flatMap(({ failed }) => failed),
      }
    }

    async function used(load: Load): Promise<{ units: number[]; holds: number }> {
      const places = Array.from({ length: load.subjects }, (_, s) => s)
      const answers = await Promise.all(
        places.map((s) => store.decide({ kind: 'peek', charges: [chargeOf(load, s)] }, withinMs)),
      )
      return {
        units: answers.map(({ statuses }) => load.amount - statuses[0]![0]!.remaining),
        holds: answers.reduce((sum, { holds }) => sum + holds![0]!.length, 0),
      }
    }

    it('admit exactly the limit of one subject, and the denied spend nothing', async () => {
      const load = { name: 'one', subjects: 1, amount: 5000, cost: 3, perAsk: 1, asks: 1000, inFlight }
      const outcome = await together(load)
      expect(outcome.failed).toEqual([])
      expect([outcome.allowed, outcome.denied]).toEqual([1666, 8000 - 1666])
      expect((await used(load)).units).toEqual([4998])
      const rest = await store.decide(
        { kind: 'take', charges: [{ ...chargeOf(load, 0), cost: 2 }], copies: 1, hold: undefined },
        withinMs,
      )
      expect(rest.allowed).toBe(true)
    })

    it('admit exactly the limit of each of 1,000 subjects', async () => {
      const load = { name: 'many', subjects: 1000, amount: 5, cost: 1, perAsk: 1, asks: 1000, inFlight }
      const outcome = await together(load)
      expect(outcome.failed).toEqual([])
      expect([outcome.allowed, outcome.denied]).toEqual([5000, 3000])
      expect(outcome.admitted).toEqual(new Array(1000).fill(5))
      expect((await used(load)).units).toEqual(outcome.admitted)
    })

    it('spend on three subjects at once or on none, and give back what was taken in part', async () => {
      const load = { name: 'three', subjects: 12, amount: 200, cost: 1, perAsk: 3, asks: 400, inFlight }
      const outcome = await together(load)
      expect(outcome.failed).toEqual([])
      expect(Math.max(...outcome.admitted)).toBeLessThanOrEqual(load.amount)
      expect(outcome.denied).toBeGreaterThan(0)
      expect(outcome.allowed).toBeGreaterThan(0)
      await waitFor(async () => (await used(load)).holds === 0, { describe: 'all receipts to be settled' })
      expect((await used(load)).units).toEqual(outcome.admitted)
    })
  })
}
