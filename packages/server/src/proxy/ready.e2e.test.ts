import { Redis } from 'ioredis'
import { pino } from 'pino'
import { createEgress } from 'sluice/egress'
import { openRedis } from 'sluice/redis'
import { startRedis } from 'sluice/testing'
import { expect, test } from 'vitest'
import { startProxy } from './proxy.ts'

test.each([
  ['closed', 503],
  ['open', 200],
] as const)(
  'a proxy without a single call answers by onStoreFailure: %s once its Redis has stopped',
  async (onStoreFailure, status) => {
    const server = await startRedis()
    const client = new Redis({ port: server.port, lazyConnect: true })
    client.on('error', () => {})
    const redis = openRedis(client, { reports: false })
    const upstream = { name: 'vendor', origin: 'http://127.0.0.1:1', limits: { rps: 1 }, onStoreFailure }
    const egress = await createEgress({ policy: { service: 's', upstreams: [upstream] }, redis })
    const config = {
      host: '127.0.0.1',
      port: 0,
      tokens: { current: [] },
      credentials: { current: {} },
      maxBodyBytes: 1e6,
      drainMs: 100,
    }
    const proxy = await startProxy(egress, config, pino({ enabled: false }))
    const ready = (): Promise<Response> => fetch(`${proxy.url}/ready`)
    try {
      expect(await (await ready()).json()).toEqual({ ready: true, reasons: [], warnings: [] })
      await server.stop()
      const noticed = async (): Promise<unknown> => {
        const { reasons, warnings } = (await (await ready()).json()) as Record<string, string[]>
        return [...reasons!, ...warnings!].length
      }
      await expect.poll(noticed).toBe(1)
      expect((await ready()).status).toBe(status)
    } finally {
      await proxy.close()
      await egress.close({ within: 100 })
      await redis.close()
      client.disconnect()
      await server.stop()
    }
  },
)
