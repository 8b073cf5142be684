import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createLimiter } from 'sluice'
import { createBreaker } from 'sluice/breaker'
import { openRedis } from 'sluice/redis'
import { type RedisServer, startRedis } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../serve.ts'
import { hold } from '../testing/held-to-description.ts'
import { send, startDaemon } from '../testing/started.ts'

const open = { kind: 'breaker', name: 'mail', action: 'open' }

describe('actions of parts', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-actions-'))
  const policy = join(folder, 'sluice.yaml')
  writeFileSync(policy, 'service: shop\nrules: [{ name: r, limits: { rpd: 100 } }]\n')
  let redis: RedisServer
  let daemons: readonly Daemon[]
  beforeAll(async () => {
    redis = await startRedis()
    const start = () => startDaemon({ policy, redis: redis.url }, { SLUICE_READ_TOKEN: 'may-only-look' })
    daemons = await Promise.all([start(), start()])
  })
  afterAll(async () => {
    for (const daemon of daemons ?? []) await daemon.close()
    await redis?.stop()
    rmSync(folder, { recursive: true })
  })

  interface Replica {
    readonly replica: string
    readonly parts: readonly { readonly name: string; readonly kind: string; readonly actions: readonly string[] }[]
    readonly results: readonly { readonly id: string; readonly state: string; readonly text: string }[]
  }
  const act = async (daemon: Daemon, replica: string, body: object, headers = {}) => {
    const path = `/v1/parts/${replica}/actions`
    const answer = await send(daemon.url + path, 'POST', body, headers)
    hold('POST', path, body, answer)
    return { status: answer.status, body: answer.body as { id?: string; detail?: string } }
  }
  /** The process with a breaker of this name. */
  const processWith = async (name: string): Promise<Replica> => {
    const find = async (): Promise<Replica | undefined> => {
      const answer = await send(`${daemons[0]!.url}/v1/stats`, 'GET')
      hold('GET', '/v1/stats', undefined, answer)
      const { replicas } = answer.body as { replicas: readonly Replica[] }
      return replicas.find(({ parts }) => parts.some((part) => part.kind === 'breaker' && part.name === name))
    }
    await expect.poll(find, { timeout: 15_000 }).toBeDefined()
    return (await find())!
  }
  /** A process that reports a breaker. */
  const start = async (name: string, actions: boolean) => {
    const client = new Redis(redis.url, { lazyConnect: true })
    const handle = openRedis(client, { service: 'shop', reports: { actions } })
    const limiter = await createLimiter({ limits: { rpm: 5 }, redis: handle })
    const breaker = createBreaker({ name })
    const close = async () => {
      for (const each of [breaker, limiter, handle]) await each.close()
      client.disconnect()
    }
    return { breaker, close }
  }

  test('are done by the process, for admins only, with an entry in the audit log', async () => {
    const { breaker, close } = await start('mail', true)
    const { replica, parts } = await processWith('mail')
    expect(parts.find(({ kind }) => kind === 'breaker')).toMatchObject({ actions: ['open', 'close'] })
    const reader = { authorization: 'Bearer may-only-look' }
    expect((await act(daemons[0]!, replica, open, reader)).status).toBe(403)
    const answers = await Promise.all(daemons.map((daemon) => act(daemon, replica, open)))
    expect(answers.map(({ status }) => status)).toEqual([202, 202])
    await expect
      .poll(async () => (await processWith('mail')).results, { timeout: 15_000 })
      .toContainEqual({ id: answers[0]!.body.id, state: 'done', text: '' })
    expect(breaker.stats().isolated).toBe(true)
    const { entries } = (await send(`${daemons[0]!.url}/v1/audit`, 'GET')).body as { entries: object[] }
    expect(entries).toMatchObject([
      {
        ...{ who: { name: 'admin' }, what: 'part.action', after: { action: 'open', id: answers[0]!.body.id, replica } },
        target: expect.stringMatching(/:\d+ \/ breaker \/ mail$/),
      },
    ])
    await close()
  })

  test('are refused where nothing can do them', async () => {
    const { breaker, close } = await start('closed', false)
    const { replica, parts } = await processWith('closed')
    expect(parts.flatMap(({ actions }) => actions)).toEqual([])
    const [daemon] = daemons
    const answers = [
      await act(daemon!, replica, { ...open, name: 'closed' }),
      await act(daemon!, replica, { ...open, name: 'none' }),
      await act(daemon!, 'nobody', open),
      await act(daemon!, replica, { ...open, name: 7 }),
      await act(daemon!, replica, { ...open, force: true }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([409, 404, 404, 400, 400])
    expect(answers[0]!.body.detail).toContain('reports: { actions: true }')
    expect(breaker.state).toBe('closed')
    await close()
  })

  test('do not reach a process that was only posted to a daemon, whatever it lists', async () => {
    const daemon = await startDaemon({ policy })
    const report = {
      ...{ v: 1, service: 'shop', replica: 'posted', host: 'h', pid: 1, startedAt: 0, omitted: [] },
      sections: [{ kind: 'breaker', name: 'mail', stats: {}, actions: ['open'] }],
    }
    for (const to of [daemon, daemons[0]!])
      expect((await send(`${to.url}/v1/reports`, 'POST', report)).status).toBe(200)
    expect((await act(daemon, 'posted', open)).status).toBe(409)
    expect((await act(daemons[0]!, 'posted', open)).status).toBe(404)
    await daemon.close()
  })
})
