import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { reservePort, startRedis, waitFor } from 'sluice/testing'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { buildCli, runCli, startCli } from '../testing/run-cli.ts'

const running: ChildProcess[] = []
beforeAll(buildCli, 180_000)
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
})

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const { port, release } = await reservePort()
  await release()
  return port
}

async function startWaiting(redis: string) {
  const url = `http://127.0.0.1:${await freePort()}`
  const child = startCli(['serve'], {
    env: { SLUICE_PORT: new URL(url).port, SLUICE_REDIS: redis, SLUICE_WAIT_FOR_REDIS: 'true' },
  })
  running.push(child)
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const ask = async (path: string, init?: RequestInit) => {
    const response = await fetch(url + path, init).catch(() => undefined)
    return response && { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const isUp = async (path: string): Promise<boolean> => (await ask(path))?.status === 200
  await waitFor(() => isUp('/health'), { describe: 'a sign of life', timeoutMs: 30_000 })
  return { child, ended, ask, isUp }
}

const check = { method: 'POST', body: '{"key":"user:1","rule":"per-user"}' }

describe('sluice serve --wait-for-redis', () => {
  it('lives, is not ready and decides nothing until Redis is there, then decides by it', async () => {
    const redis = await startRedis()
    await redis.kill()
    const daemon = await startWaiting(redis.url)
    expect(await daemon.ask('/ready')).toMatchObject({
      status: 503,
      body: { ready: false, reasons: [expect.stringContaining('Redis cannot be used')] },
    })
    expect(await daemon.ask('/v1/check', check)).toMatchObject({
      status: 503,
      body: { detail: expect.stringContaining('waits for Redis') },
    })
    await redis.restart()
    await waitFor(() => daemon.isUp('/ready'), { describe: 'readiness', timeoutMs: 30_000 })
    expect(await daemon.ask('/v1/check', check)).toMatchObject({
      status: 200,
      body: { allowed: true, degraded: false },
    })
    expect(await redis.cli('DBSIZE')).toBeGreaterThan(0)
    daemon.child.kill('SIGTERM')
    expect(await daemon.ended).toBe(0)
    await redis.stop()
  }, 120_000)

  it('ends at once when it is told to while it waits', async () => {
    const daemon = await startWaiting('redis://127.0.0.1:1')
    daemon.child.kill('SIGTERM')
    expect(await daemon.ended).toBe(0)
  })

  it('does not wait for a password to become right', async () => {
    const redis = await startRedis()
    await redis.cli('CONFIG', 'SET', 'requirepass', 'hunter2hunter2')
    const ran = await runCli(['serve', '--port', '0', '--redis', redis.url, '--wait-for-redis'])
    expect(ran).toMatchObject({ code: 4, err: expect.stringContaining('NOAUTH') })
    await redis.stop()
  })

  it('is a choice beside --require-redis, and wants to know which Redis', async () => {
    const redis = ['--redis', 'redis://127.0.0.1:1']
    expect(await runCli(['serve', ...redis, '--wait-for-redis', '--require-redis'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('leave out --require-redis'),
    })
    expect(await runCli(['serve', '--wait-for-redis'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('name the Redis with --redis'),
    })
  })
})
