import { Redis } from 'ioredis'
import { pino } from 'pino'
import { createEgress } from 'sluice/egress'
import { openRedis } from 'sluice/redis'
import { startRedis } from 'sluice/testing'
import { expect, test } from 'vitest'
import { logEgress } from '../log/log-events.ts'
import { startProxy } from './proxy.ts'

test('an upstream that waits on an empty Redis says so, until when, and how it goes on', async () => {
  const server = await startRedis()
  const client = new Redis({ port: server.port, lazyConnect: true })
  const redis = openRedis(client, { reports: false })
  const upstreams = [{ name: 'mail', limits: { rph: 500 } }]
  const egress = await createEgress({ policy: { service: 's', upstreams }, redis })
  const logged: string[] = []
  const end = logEgress(egress, pino({}, { write: (line) => logged.push(String(JSON.parse(line).msg)) }))
  try {
    const impatient = egress.run('mail', () => 'sent', { maxWait: 500 })
    await expect(impatient).rejects.toMatchObject({
      reason: 'wait-too-long',
      retryAfterMs: expect.toSatisfy(isPositive),
    })
    const silent = await egress.health()
    expect(silent.warnings).toEqual([
      expect.stringMatching(/mail lost its shared state, or is new; nothing is granted for/),
    ])
    expect(await egress.run('mail', () => 'sent')).toBe('sent')
    const paced = await egress.health()
    expect(paced.warnings).toEqual([expect.stringMatching(/mail does not know .* paced for 59m.* under twice a limit/)])
    expect(logged).toEqual([expect.stringContaining('nothing is granted'), expect.stringContaining('paced')])
  } finally {
    end()
    await egress.close()
    await redis.close()
    client.disconnect()
    await server.stop()
  }
})

const isPositive = (ms: number): boolean => ms > 0

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
