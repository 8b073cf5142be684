import { type ChildProcess, fork } from 'node:child_process'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { postgresPolicy } from '../packages/sluice/src/policy/sources/postgres/postgres.ts'
import { redisPolicy } from '../packages/sluice/src/policy/sources/redis/redis.ts'
import type { RedisHandle } from '../packages/sluice/src/redis/handle.ts'
import { openRedis } from '../packages/sluice/src/stores/redis/open-redis.ts'
import { type PostgresServer, startPostgres } from '../packages/sluice/src/testing/servers/postgres.ts'
import { type RedisServer, startRedis } from '../packages/sluice/src/testing/servers/redis.ts'
import { waitFor } from '../packages/sluice/src/testing/wait-for.ts'
import { bundled } from './bundled.ts'
import { policyOf, type Report, type SourceKind } from './policy-change.ts'

const replicas = 4
const changes = 7

describe('a limit that changes under load in four processes', () => {
  let redisServer: RedisServer
  let postgres: PostgresServer
  let redis: Redis
  let handle: RedisHandle
  let pool: Pool
  let folder: string
  let worker: string
  const children: ChildProcess[] = []

  beforeAll(async () => {
    worker = await bundled(join(import.meta.dirname, 'policy-change-worker.ts'))
    ;[redisServer, postgres] = await Promise.all([startRedis(), startPostgres()])
    redis = new Redis(redisServer.url)
    handle = openRedis(redis, { reports: false })
    pool = new Pool({ connectionString: postgres.url })
    // The pool drops its clients before they have disconnected, and the server may stop sooner.
    pool.on('error', () => {})
    pool.on('connect', (client) => void client.on('error', () => {}))
    folder = await mkdtemp(join(tmpdir(), 'sluice-change-'))
  })

  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
  })

  afterAll(async () => {
    redis?.disconnect()
    await pool?.end()
    await Promise.all([redisServer?.stop(), postgres?.stop()])
    await rm(folder, { recursive: true, force: true })
  })

  const places: Record<SourceKind, { place: () => string; write(document: object): Promise<unknown> }> = {
    file: {
      place: () => join(folder, 'sluice.json'),
      async write(document) {
        await writeFile(join(folder, 'draft'), JSON.stringify(document))
        await rename(join(folder, 'draft'), join(folder, 'sluice.json'))
      },
    },
    redis: {
      place: () => 'policy:shop',
      write: (document) => redisPolicy(handle, { key: 'policy:shop' }).archive.push(document),
    },
    postgres: {
      place: () => postgres.url,
      write: (document) => postgresPolicy(pool, { service: 'shop', createTable: true }).archive.push(document),
    },
  }

  for (const kind of ['file', 'redis', 'postgres'] as const) {
    it(`explains every decision by one version, and all are on the new one within a second (${kind})`, async () => {
      const { place, write } = places[kind]
      await write(policyOf('v1'))
      const reports = Array.from({ length: replicas }, () => startReplica([kind, place(), redisServer.url]))
      const allOn = (version: string): Promise<unknown> =>
        waitFor(() => reports.every((each) => arrival(each, version) !== undefined), {
          describe: `all replicas on ${version}`,
          timeoutMs: 60_000,
        })
      await allOn('v1')
      const delaysMs: number[] = []
      for (let i = 2; i < 2 + changes; i++) {
        const beganMs = Date.now()
        await write(policyOf(`v${i}`))
        await allOn(`v${i}`)
        delaysMs.push(Math.max(...reports.map((each) => Number(arrival(each, `v${i}`)))) - beganMs)
      }
      for (const child of children) child.send('stop')
      const ends = await Promise.all(
        reports.map((each) => waitFor(() => each.find(({ kind }) => kind === 'end'), { timeoutMs: 30_000 })),
      )
      for (const end of ends) {
        expect(end).toMatchObject({ mixed: [], degraded: 0 })
        expect(end.kind === 'end' && end.denied).toBeGreaterThan(0)
        expect(end.kind === 'end' && end.decisions - end.denied).toBeGreaterThan(0)
      }
      // The median, because a machine that is busy with other tests may pause for a second.
      expect(delaysMs.sort((a, b) => a - b)[Math.floor(changes / 2)]).toBeLessThan(1000)
    }, 120_000)
  }

  function startReplica(args: string[]): Report[] {
    const reports: Report[] = []
    const child = fork(worker, args, { execArgv: [] })
    child.on('message', (report) => reports.push(report as Report))
    children.push(child)
    return reports
  }
})

function arrival(reports: readonly Report[], version: string): number | undefined {
  const found = reports.find((report) => report.kind === 'version' && report.version === version)
  return found?.kind === 'version' ? found.atMs : undefined
}
