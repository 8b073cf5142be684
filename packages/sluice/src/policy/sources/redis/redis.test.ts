import { Cluster, Redis as Redis6 } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'
import { createClient as createClient6, createCluster } from 'redis'
import { createClient as createClient5 } from 'redis5'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RedisClient } from '../../../redis/client.ts'
import type { RedisHandle } from '../../../redis/handle.ts'
import { openRedis } from '../../../stores/redis/open-redis.ts'
import { startCluster } from '../../../testing/servers/cluster.ts'
import { type RedisServer, startRedis } from '../../../testing/servers/redis.ts'
import { type SourcePlace, sourceConformance } from '../../../testing/source-conformance.ts'
import { waitFor } from '../../../testing/wait-for.ts'
import { openPolicy } from '../../live/open-policy.ts'
import { redisPolicy } from './redis.ts'

const handles = new Map<RedisClient, RedisHandle>()
/** One handle per client, as a service has it. */
function handleOf(client: RedisClient): RedisHandle {
  const handle = handles.get(client) ?? openRedis(client, { reports: false })
  handles.set(client, handle)
  return handle
}

interface Opened {
  readonly client: RedisClient
  close(): unknown
}

type Open = (url: string) => Promise<Opened>

const clients: Record<string, Open> = {
  'ioredis 6': async (url) => {
    const client = new Redis6(url).on('error', () => {})
    return { client, close: () => client.disconnect() }
  },
  'ioredis 5': async (url) => {
    const client = new Redis5(url).on('error', () => {})
    return { client, close: () => client.disconnect() }
  },
  'node-redis 6': async (url) => {
    const client = await createClient6({ url })
      .on('error', () => {})
      .connect()
    return { client, close: () => client.destroy() }
  },
  'node-redis 5': async (url) => {
    const client = await createClient5({ url })
      .on('error', () => {})
      .connect()
    return { client, close: () => client.destroy() }
  },
}

const push = (client: RedisHandle, options: { readonly key: string }, document: unknown): Promise<number> =>
  redisPolicy(client, options).archive.push(document)

async function place(open: Open): Promise<SourcePlace> {
  const server = await startRedis()
  const { client, close } = await open(server.url)
  const key = (name: string): string => `policy:${name}`
  return {
    open: (name) => redisPolicy(handleOf(client), { key: key(name), poll: 3_600_000, timeout: 500 }),
    write: async (name, document) => void (await push(handleOf(client), { key: key(name) }, document)),
    writeNonsense: async (name) => void (await push(handleOf(client), { key: key(name) }, '{ nonsense')),
    async remove(name) {
      await server.cli('DEL', key(name))
      await server.cli('PUBLISH', `${key(name)}:changed`, 'gone')
    },
    outage: {
      begin: () => server.kill(),
      end: async () => void (server.running || (await server.restart())),
    },
    async close() {
      close()
      await server.stop()
    },
  }
}

const framework = { describe, it, beforeAll, afterAll }
for (const [name, open] of Object.entries(clients)) {
  sourceConformance(framework, { name: `redisPolicy over ${name}`, start: () => place(open) })
}

const policy = (version: string): object => ({
  service: 'shop',
  version,
  rules: [{ name: 'all', key: ['ip'], limits: { rpm: 10 } }],
})

describe('redisPolicy', () => {
  let server: RedisServer
  let redis: Redis6
  beforeAll(async () => {
    server = await startRedis()
    redis = new Redis6(server.url)
  })

  afterAll(async () => {
    redis.disconnect()
    await server.stop()
  })

  it('finds a change by polling when the message was missed', async () => {
    await push(handleOf(redis), { key: 'missed' }, policy('v0'))
    const source = redisPolicy(handleOf(redis), { key: 'missed', channel: 'nobody-speaks-here', poll: 20 })
    const live = await openPolicy(source)
    await push(handleOf(redis), { key: 'missed' }, policy('v1'))
    await waitFor(() => live.current.version === 'v1')
    await live.close()
  })

  it('reads a string that was set by hand, and keeps it as a version when a policy is published over it', async () => {
    await redis.set('by-hand', JSON.stringify(policy('v0')))
    const source = redisPolicy(handleOf(redis), { key: 'by-hand', poll: 20 })
    const live = await openPolicy(source)
    expect(live.current.version).toBe('v0')
    await redis.set('by-hand', JSON.stringify(policy('v1')))
    await waitFor(() => live.current.version === 'v1')
    expect(await source.archive.history(5)).toEqual([])
    await source.archive.push(policy('v2'), { after: 0 })
    await waitFor(() => live.current.version === 'v2')
    const history = await source.archive.history(5)
    expect(history.map(({ document }) => JSON.parse(String(document)).version)).toEqual(['v2', 'v1'])
    await live.close()
  })

  it('works with a prefix on every key', async () => {
    const prefixed = new Redis6(server.url, { keyPrefix: 'app:' })
    await push(handleOf(prefixed), { key: 'prefixed' }, policy('v0'))
    expect(await redis.exists('app:prefixed')).toBe(1)
    const live = await openPolicy(redisPolicy(handleOf(prefixed), { key: 'prefixed', poll: 3_600_000 }))
    await push(handleOf(prefixed), { key: 'prefixed' }, policy('v1'))
    await waitFor(() => live.current.version === 'v1')
    await live.close()
    prefixed.disconnect()
  })

  it('gives a hundred that publish at once a hundred revisions, and keeps the last ten', async () => {
    const { archive } = redisPolicy(handleOf(redis), { key: 'many' })
    const revisions = await Promise.all(Array.from({ length: 100 }, (_, i) => archive.push(policy(`v${i}`))))
    expect(revisions.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1))
    const history = await archive.history(100)
    expect(history.map(({ revision }) => revision)).toEqual(revisions.sort((a, b) => b - a).slice(0, 10))
    expect(await redis.hget('many', 'revision')).toBe(String(revisions[0]))
  })

  it('numbers revisions from 1, and follows them when they begin again after all data was lost', async () => {
    const source = redisPolicy(handleOf(redis), { key: 'again', poll: 20 })
    const { archive } = source
    const before = Date.now()
    expect(await archive.push(policy('v1'))).toBe(1)
    const live = await openPolicy(source)
    await redis.del('again')
    expect(await archive.push(policy('v2'))).toBe(1)
    await waitFor(() => live.current.version === 'v2')
    expect(await archive.push(policy('v3'))).toBe(2)
    await waitFor(() => live.current.version === 'v3')
    await redis.del('again')
    expect(await archive.push(policy('v4'))).toBe(1)
    await waitFor(() => live.current.version === 'v4')
    const [newest] = await archive.history(1)
    expect(newest).toMatchObject({ revision: 1 })
    expect(Math.abs(newest!.createdAt.getTime() - before)).toBeLessThan(600_000)
    await live.close()
  })

  it('lets only one of several push after the same revision', async () => {
    const { archive } = redisPolicy(handleOf(redis), { key: 'after' })
    const after = (await archive.history(1))[0]?.revision ?? 0
    const pushes = await Promise.allSettled([1, 2, 3, 4].map((i) => archive.push(policy(`v${i}`), { after })))
    expect(pushes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const push of pushes)
      if (push.status === 'rejected') expect(push.reason).toMatchObject({ code: 'SLUICE_POLICY_CHANGED' })
    await expect(archive.push(policy('late'), { after })).rejects.toMatchObject({ code: 'SLUICE_POLICY_CHANGED' })
    const [newest] = await archive.history(1)
    expect(await archive.push(policy('next'), { after: newest!.revision })).toBeGreaterThan(newest!.revision)
  })

  it('does not touch a key that holds something else', async () => {
    await redis.rpush('queue', 'work')
    await expect(push(handleOf(redis), { key: 'queue' }, policy('v0'))).rejects.toThrow(/WRONGTYPE/)
    expect(await redis.lrange('queue', 0, -1)).toEqual(['work'])
    const live = openPolicy(redisPolicy(handleOf(redis), { key: 'queue' }))
    await expect(live).rejects.toMatchObject({ code: 'SLUICE_SOURCE_FAILED' })
  })

  it('does not pile up work while Redis hangs', async () => {
    await push(handleOf(redis), { key: 'hangs' }, policy('v0'))
    const client = new Redis6(server.url)
    const live = await openPolicy(redisPolicy(handleOf(client), { key: 'hangs', poll: 10, timeout: 200 }))
    await server.freeze()
    try {
      await waitFor(() => live.status.lastError, { describe: 'the silence to be noticed' })
      expect(live.current.version).toBe('v0')
    } finally {
      server.thaw()
    }
    await waitFor(() => live.status.lastError === undefined, { describe: 'recovery' })
    await live.close()
    client.disconnect()
  })

  it('names the option that is wrong', () => {
    expect(() => redisPolicy(handleOf(redis), { key: '' })).toThrow(/key is ""/)
    expect(() => redisPolicy(redis as never, { key: 'k' })).toThrow(/pass a handle: openRedis\(client\)/)
  })
})

describe('redisPolicy on a cluster', () => {
  it('follows what is published, with both clients', async () => {
    const servers = await startCluster({ masters: 3, replicas: 0 })
    const url = servers.nodes[0]!.url
    const ioredis = new Cluster([url])
    const nodeRedis = createCluster({ rootNodes: [{ url }] })
    try {
      await nodeRedis.connect()
      const options = { key: 'policy:shop', poll: 3_600_000 }
      await push(handleOf(ioredis), options, policy('v1'))
      const follow = (client: RedisClient) => openPolicy(redisPolicy(handleOf(client), options))
      const both = await Promise.all([follow(ioredis), follow(nodeRedis)])
      for (const [client, version] of [
        [ioredis, 'v2'],
        [nodeRedis, 'v3'],
      ] as const) {
        await push(handleOf(client), options, policy(version))
        await waitFor(() => both.every((live) => live.current.version === version), { describe: version })
      }
      await Promise.all(both.map((live) => live.close()))
    } finally {
      ioredis.disconnect()
      nodeRedis.destroy()
      await servers.stop()
    }
  })
})
