import { Cluster } from 'ioredis'
import { createCluster } from 'redis'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { RedisClient } from '../../redis/client.ts'
import { slotOf } from '../../redis/slots.ts'
import { type ClusterServers, startCluster } from '../../testing/servers/cluster.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { openRedis } from './open-redis.ts'

let cluster: ClusterServers
beforeAll(async () => {
  cluster = await startCluster()
})
afterAll(() => cluster?.stop())

const clients: Readonly<Record<string, () => RedisClient>> = {
  ioredis: () =>
    new Cluster(
      cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
      { lazyConnect: true },
    ),
  'node-redis': () => createCluster({ rootNodes: cluster.nodes.map(({ url }) => ({ url })) }) as unknown as RedisClient,
}
const rules = ['one', 'two'].map((name) => ({
  name,
  key: 'query.who',
  limits: { rph: 1000 },
  onStoreFailure: 'closed' as const,
}))
const exact = (limiter: Limiter): Promise<unknown> =>
  waitFor(async () => !(await limiter.take('probe', { rule: 'one' })).degraded)

describe.each(Object.entries(clients))('a cluster, with %s', (name, client) => {
  const service = `cluster-${name}`
  const keyOf = (subject: string): string => `sluice:${service}/one/${subject}`
  /** Subjects whose keys lie in one slot: found by trying. */
  function subjectsInSlotOf(first: string, count: number): string[] {
    const slot = slotOf(keyOf(first))
    const found = [first]
    for (let i = 0; found.length < count; i++) if (slotOf(keyOf(`s${i}`)) === slot) found.push(`s${i}`)
    return found
  }
  const open = (deadlineMs = 500): Promise<Limiter> =>
    createLimiter({
      deadline: deadlineMs,
      policy: { service, rules },
      redis: openRedis(client()),
      denyCache: false,
      breaker: { failures: 1_000_000 },
    })

  test('the first decisions wait for all its masters', async () => {
    for (let start = 0; start < 20; start++) {
      const limiter = await open(5000)
      try {
        const first = await Promise.all(
          Array.from({ length: 20 }, (_, i) => limiter.take(`first-${i}`, { rule: 'one' })),
        )
        expect(first.filter(({ degraded }) => degraded)).toEqual([])
      } finally {
        await limiter.close()
      }
    }
  })

  test('replies that a busy process has not read yet are no silence of a node', async () => {
    const limiter = await open(10_000)
    try {
      await exact(limiter)
      for (let time = 0; time < 3; time++) {
        const taking = limiter.take('unread', { rule: 'one' })
        await new Promise(setImmediate)
        // Longer than a connection with calls in flight may be silent.
        for (const endMs = performance.now() + 700; performance.now() < endMs; );
        expect(await taking).toMatchObject({ allowed: true, degraded: false, failure: undefined })
      }
    } finally {
      await limiter.close()
    }
  })

  test('a slot on the move (ASK, TRYAGAIN) and one that has moved (MOVED) are followed, exactly', async () => {
    const limiter = await open()
    try {
      await exact(limiter)
      const subjects = subjectsInSlotOf('moving', 6)
      const slot = slotOf(keyOf('moving'))
      const take = async (): Promise<void> => {
        const decisions = await Promise.all(subjects.map((subject) => limiter.take(subject, { rule: 'one' })))
        expect(decisions.map(({ allowed, failure }) => failure ?? allowed)).toEqual(subjects.map(() => true))
      }
      await take()
      const from = await cluster.masterOf(slot)
      const to = (await cluster.masters()).find((node) => node !== from)!
      const move = await cluster.beginMove(slot, from, to)
      await move.step(3)
      // One at a time, each is found where it is.
      for (const subject of subjects)
        expect(await limiter.take(subject, { rule: 'one' })).toMatchObject({ degraded: false })
      // Half of the keys are on each side: what asks for all of them in one call must wait until the move is over.
      const waiting = take()
      await cluster.endMove(move)
      await waiting
      await take()
      for (const subject of subjects)
        expect((await limiter.peek(subject, { rule: 'one' })).limits[0]!.remaining).toBe(996)
      await cluster.moveSlot(slot, to, from)
    } finally {
      await limiter.close()
    }
  })

  test('a decision over several slots never asks one script for all of them (no CROSSSLOT), and is all or nothing', async () => {
    // Not about time: a busy machine may take its.
    const limiter = await open(10_000)
    try {
      await exact(limiter)
      const request = (who: string) => ({ method: 'GET', path: '/', query: { who } }) as never
      const decisions = await Promise.all(Array.from({ length: 50 }, (_, i) => limiter.check(request(`w${i}`))))
      expect(decisions.map(({ allowed, failure }) => failure ?? allowed)).toEqual(decisions.map(() => true))
      await limiter.take('w0', { rule: 'two', cost: 999 })
      expect(await limiter.check(request('w0'))).toMatchObject({ allowed: false, reason: 'quota', rule: 'two' })
      expect((await limiter.peek('w0', { rule: 'one' })).limits[0]!.remaining).toBe(999)
    } finally {
      await limiter.close()
    }
  })

  test('a decision over several slots with one of them frozen settles all the same and keeps nothing', async () => {
    const limiter = await open()
    const slotOfRule = (rule: string, subject: string): number => slotOf(`sluice:${service}/${rule}/${subject}`)
    await exact(limiter)
    const frozen = await cluster.masterOf(0)
    let who = ''
    for (let i = 0; who === ''; i++) {
      const [one, two] = [
        await cluster.masterOf(slotOfRule('one', `f${i}`)),
        await cluster.masterOf(slotOfRule('two', `f${i}`)),
      ]
      if (one !== frozen && two === frozen) who = `f${i}`
    }
    const request = { method: 'GET', path: '/', query: { who } } as never
    expect((await limiter.check(request)).degraded).toBe(false)
    await frozen.freeze()
    try {
      expect(await limiter.check(request)).toMatchObject({ allowed: false, reason: 'unavailable', degraded: true })
    } finally {
      frozen.thaw()
    }
    await cluster.settled()
    await waitFor(
      async () => !(await limiter.check({ method: 'GET', path: '/', query: { who: 'other' } } as never)).degraded,
      { timeoutMs: 20_000 },
    )
    // What the other slot had taken comes back as soon as it can be told.
    await waitFor(async () => (await limiter.peek(who, { rule: 'one' })).limits[0]?.remaining === 999)
    await limiter.close()
  })
})

test('a client of ioredis that is closed while it asks for the slots sets no timer any more', async () => {
  const client = clients.ioredis!() as unknown as Cluster
  const duplicate = vi.spyOn(client, 'duplicate')
  const limiter = await createLimiter({ limits: { rph: 1000 }, redis: openRedis(client as unknown as RedisClient) })
  await waitFor(async () => !(await limiter.take('anyone')).degraded)
  type Refreshing = { readonly isRefreshing: boolean; readonly slotsTimer: unknown }
  const own = duplicate.mock.results[0]!.value as unknown as Refreshing
  await new Promise<void>((resolve) => {
    const look = (): unknown => (own.isRefreshing ? resolve() : setImmediate(look))
    look()
  })
  await limiter.close()
  await waitFor(() => !own.isRefreshing)
  expect(own.slotsTimer).toBeFalsy()
  client.disconnect()
})
