import { Redis } from 'ioredis'
import { createFreshness } from 'sluice/cache'
import { openRedis } from 'sluice/redis'
import { startRedis, waitFor } from 'sluice/testing'
import { expect, test } from 'vitest'
import { resolveConfig } from '../config/config.ts'
import { hold } from '../testing/held-to-description.ts'
import { send, startDaemon } from '../testing/started.ts'

test('/ready and the metrics tell which data source is stale and for how long', { timeout: 120_000 }, async () => {
  const server = await startRedis()
  const producer = new Redis(server.port)
  producer.on('error', () => undefined)
  const freshness = await createFreshness({ redis: openRedis(producer, { service: 'prices' }), redisDeadline: '5s' })
  const daemon = await startDaemon({
    redis: server.url,
    deadline: '2000',
    'data-sources': 'prices/binance, prices/kraken,orders',
  })
  const ready = async (query = '') => {
    const answer = await send(`${daemon.url}/ready${query}`, 'GET')
    hold('GET', `/ready${query}`, undefined, answer)
    return answer as { status: number; body: { status: string; sources: Record<string, unknown>[] | null } }
  }
  try {
    const never = { stale: true, staleSeconds: null, ageSeconds: null }
    expect(await ready()).toMatchObject({
      status: 200,
      body: {
        ready: false,
        reasons: ['The data source prices/binance is stale.', 'The data source prices/kraken is stale.'],
        sources: [
          { source: 'prices/binance', ...never },
          { source: 'prices/kraken', ...never },
        ],
      },
    })
    expect((await ready('?strict=true')).status).toBe(503)
    await freshness.report('binance', '60s')
    await freshness.report('kraken', '60s')
    expect(await ready('?strict=true')).toMatchObject({ status: 200, body: { ready: true, reasons: [] } })
    await freshness.report('kraken', '1ms')
    const late = await waitFor(async () => {
      const { body } = await ready()
      return body.sources!.find((each) => Number(each.staleSeconds) > 0.05)
    })
    expect(late).toMatchObject({ source: 'prices/kraken', stale: true })
    expect(late.ageSeconds).toBeGreaterThanOrEqual(Number(late.staleSeconds))
    await waitFor(async () => {
      const { body } = await send(`${daemon.url}/metrics`, 'GET')
      const text = String(body)
      return (
        text.includes('sluice_freshness_stale{source="prices/kraken"} 1') &&
        text.includes('sluice_freshness_stale{source="prices/binance"} 0') &&
        /sluice_freshness_stale_seconds\{source="prices\/kraken"\} \d+\.\d+/.test(text)
      )
    })
    await server.kill()
    // What cannot be read is not fresh.
    expect((await ready()).body).toMatchObject({ ready: false, sources: null })
  } finally {
    await daemon.close()
    await freshness.close()
    producer.disconnect()
    await server.stop()
  }
})

test('a daemon that was told of no data source says nothing of them', async () => {
  const daemon = await startDaemon()
  try {
    const { status, body } = await send(`${daemon.url}/ready?strict=true`, 'GET')
    expect(status).toBe(200)
    expect(body).not.toHaveProperty('sources')
  } finally {
    await daemon.close()
  }
})

test('data sources want a Redis and a service', () => {
  expect(() => resolveConfig({ 'data-sources': 'prices/binance' }, {})).toThrow('--redis')
  for (const wrong of ['/binance', 'prices/', ',', 'prices/binance,,'])
    expect(() => resolveConfig({ redis: 'redis://127.0.0.1', 'data-sources': wrong }, {})).toThrow('service/source')
})
