import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRedis, waitFor } from 'sluice/testing'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { type ChildDaemon, startChild } from './testing/child-daemon.ts'
import { send } from './testing/started.ts'

/** End to end: the built daemon as a process of its own (`node scripts/build.mjs` makes it). */
describe('the built daemon', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-daemon-'))
  const children: ChildDaemon[] = []
  const start = async (
    args: readonly string[] = [],
    env: Readonly<Record<string, string>> = {},
  ): Promise<ChildDaemon> => {
    const child = await startChild(args, env)
    children.push(child)
    return child
  }
  afterEach(async () => {
    for (const { process, ended } of children.splice(0)) {
      process.kill('SIGKILL')
      await ended
    }
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test('starts with no configuration at all, and works', async () => {
    const { url } = await start()
    expect(new URL(url).hostname).toBe('127.0.0.1')
    const { body } = await send(`${url}/v1/check`, 'POST', { key: 'user:1', rule: 'per-user' })
    expect(body).toMatchObject({ allowed: true, rule: 'per-user' })
    expect((await send(`${url}/`, 'GET')).status).toBe(200)
    expect((await send(`${url}/openapi.json`, 'GET')).status).toBe(200)
  })

  test('reads tiers from the environment', async () => {
    const { url } = await start([], { RATE_LIMIT_TIER: 'standard', RATE_LIMIT_TIER_ACME_CORP: 'enterprise' })
    const amount = async (tenant: string): Promise<number> => {
      const { body } = await send(`${url}/v1/check`, 'POST', { request: { path: `/tenants/${tenant}/x` } })
      return (body as { limits: { amount: number }[] }).limits[0]!.amount
    }
    expect([await amount('acme-corp'), await amount('other')]).toEqual([10_000, 1000])
  })

  test('replicas share limits through Redis, and go on by themselves without it', async () => {
    const redis = await startRedis()
    const file = join(folder, 'shared.yaml')
    writeFileSync(file, 'service: shared\nrules: [{ name: r, limits: { rpd: 3 }, onStoreFailure: closed }]\n')
    const [a, b] = await Promise.all([
      start(['--policy', file], { REDIS_URL: redis.url }),
      start(['--policy', file, '--redis', redis.url]),
    ])
    const take = async ({ url }: ChildDaemon) =>
      (await send(`${url}/v1/check`, 'POST', { key: 'k' })).body as {
        allowed: boolean
        degraded: boolean
        reason: string
      }
    expect([
      (await take(a!)).allowed,
      (await take(b!)).allowed,
      (await take(a!)).allowed,
      (await take(b!)).allowed,
    ]).toEqual([true, true, true, false])
    await redis.stop()
    await waitFor(async () => (await take(a!)).degraded, { describe: 'a degraded decision' })
    expect(await take(a!)).toMatchObject({ allowed: false, reason: 'unavailable' })
    expect(await send(`${a!.url}/ready`, 'GET')).toMatchObject({ status: 200, body: { ready: false } })
    expect((await send(`${a!.url}/ready?strict=true`, 'GET')).status).toBe(503)
  })

  test('SIGTERM drains: what was accepted is answered, then it ends by itself', async () => {
    const child = await start()
    const port = Number(new URL(child.url).port)
    const socket = connect(port, '127.0.0.1')
    const body = '{"key":"drained","rule":"per-user"}'
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk
    })
    // The request is accepted, but not complete when the signal comes.
    socket.write(`POST /v1/check HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n`)
    const events = await fetch(`${child.url}/v1/live`)
    child.process.kill('SIGTERM')
    await waitFor(
      () =>
        fetch(child.url).then(
          () => false,
          () => true,
        ),
      { describe: 'the port to be closed' },
    )
    socket.write(body)
    await waitFor(() => answer.includes('"allowed":true'), { describe: 'the answer to an accepted request' })
    expect(answer.toLowerCase()).toContain('connection: close')
    await events.text()
    expect(await child.ended).toBe(0)
  })

  test('no request is lost while it drains under load', async () => {
    const child = await start()
    let stopping = false
    const outcomes = { answered: 0, lost: 0 }
    const caller = async (): Promise<void> => {
      while (!stopping || outcomes.answered === 0) {
        try {
          const response = await fetch(`${child.url}/v1/check`, {
            method: 'POST',
            body: '{"key":"load","rule":"per-user"}',
          })
          await response.text()
          outcomes.answered++
        } catch (error) {
          // Connecting to a closed port is not a request that was accepted.
          if ((error as { cause?: { code?: string } }).cause?.code !== 'ECONNREFUSED') outcomes.lost++
          return
        }
      }
    }
    const callers = Array.from({ length: 8 }, caller)
    await waitFor(() => outcomes.answered > 50, { describe: 'some load' })
    child.process.kill('SIGTERM')
    await child.ended
    stopping = true
    await Promise.all(callers)
    expect(outcomes.lost).toBe(0)
  })

  test('a second signal ends it at once', async () => {
    const child = await start()
    const socket = connect(Number(new URL(child.url).port), '127.0.0.1')
    socket.on('error', () => {})
    socket.write('POST /v1/check HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n')
    await send(`${child.url}/health`, 'GET')
    child.process.kill('SIGTERM')
    await waitFor(
      () =>
        fetch(child.url).then(
          () => false,
          () => true,
        ),
      { describe: 'the port to be closed' },
    )
    child.process.kill('SIGTERM')
    expect(await child.ended).not.toBe(0)
    socket.destroy()
  })

  test('fails with what is wrong, and validates without listening', async () => {
    await expect(start(['--policy', join(folder, 'nothing.yaml')])).rejects.toThrow('there is no such file')
    await expect(start(['--port', '99999'])).rejects.toThrow('--port')
  })
})
