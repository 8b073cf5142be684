import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { type RedisServer, startRedis } from 'sluice/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Daemon } from '../../packages/server/src/serve.ts'
import { startWorker, type WorkerProcess } from '../pipelines/workers.ts'
import { seriousFindings } from './accessibility.ts'
import { closeViews, openView, picture, startDaemon } from './browser.ts'

const records = 5000
const folder = mkdtempSync(join(tmpdir(), 'sluice-page-'))
const workers: WorkerProcess[] = []
let redis: RedisServer
let daemon: Daemon

beforeAll(async () => {
  const policy = join(folder, 'sluice.yaml')
  writeFileSync(policy, 'service: shop\nrules: [{ name: writes, limits: { rps: 10 } }]\n')
  redis = await startRedis()
  const client = new Redis(redis.url)
  const filling = client.pipeline()
  for (let id = 0; id < records; id++)
    filling.xadd('events', '*', 'value', id % 10 === 3 ? '{' : JSON.stringify({ id }))
  await filling.exec()
  client.disconnect()
  for (const name of ['left', 'right']) {
    const document = {
      name: 'events',
      source: { 'redis-stream': 'events', group: 'readers', consumer: name },
      sink: { file: `${name}.ndjson` },
      execution: { mode: 'streaming', batchSize: 10, parallelism: 2 },
      rate: { rule: 'writes' },
      lease: '2s',
      deadLetters: { file: `${name}-rejected.ndjson` },
    }
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(document))
    const args = [join(folder, `${name}.json`), '--redis', redis.url, '--policy', policy, '--service', 'shop']
    workers.push(startWorker(args, {}))
  }
  daemon = await startDaemon({ policy, redis: redis.url })
}, 120_000)
afterAll(async () => {
  for (const { child } of workers) child.kill('SIGKILL')
  await closeViews()
  await daemon?.close()
  await redis?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('the page shows rate, lag, rejected records and who owns which partition of a running pipeline', {
  timeout: 180_000,
}, async () => {
  const { page, wrong, close } = await openView(daemon, { view: '/parts' })
  const table = page.getByRole('table', { name: 'Pipelines' })
  /** What the row of a worker says: its process, and its figures. */
  const rowOf = async (name: string): Promise<readonly string[]> => {
    const row = table.getByRole('row').filter({ hasText: `events as ${name}-0, events as ${name}-1` })
    const [process = '', , ...figures] = await row.getByRole('cell').allTextContents()
    return [process, ...figures]
  }
  const numberIn = (text = ''): number => Number.parseFloat(text.replaceAll(',', ''))
  for (const [i, name] of ['left', 'right'].entries())
    await expect
      .poll(
        async () => {
          const [process = '', written, lag, rejected] = await rowOf(name)
          const isRate = written?.endsWith('/s') === true && numberIn(written) > 0
          const isLag = numberIn(lag) > 0 && numberIn(lag) < records
          return process.includes(`:${workers[i]!.child.pid}`) && isRate && isLag && numberIn(rejected) > 0
        },
        { timeout: 120_000, interval: 500, message: `${await table.textContent()} ${workers[i]!.out()}` },
      )
      .toBe(true)
  expect(await seriousFindings(page)).toEqual([])
  await picture(page, 'pipelines-desktop-light')
  expect(wrong).toEqual([])
  await close()
})
