import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { Pool } from 'pg'
import { type PostgresServer, type RedisServer, type Reply, startPostgres, startRedis, waitFor } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildCli, runCli, startCli } from '../cli/testing/run-cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-work-'))
const write = (name: string, text: string | Buffer): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
let postgres: PostgresServer
let redis: RedisServer
let pool: Pool

beforeAll(async () => {
  buildCli()
  ;[postgres, redis] = await Promise.all([startPostgres(), startRedis()])
  pool = new Pool({ connectionString: postgres.url })
  pool.on('error', () => {})
  pool.on('connect', (client) => void client.on('error', () => {}))
}, 180_000)
afterAll(async () => {
  await pool?.end()
  await Promise.all([postgres?.stop(), redis?.stop()])
  rmSync(folder, { recursive: true, force: true })
})

const rate = 'service: shop\nrules: [{ name: writes, limits: { rps: 500 } }]\n'
const load = `
name: load-customers
source: { file: customers.csv.gz, format: csv }
steps: [{ mask: [email] }]
sink: { postgres: customers, url: env:CUSTOMERS_DB, conflict: customer_id }
execution:
  mode: batch
  batchSize: 1000
  parallelism: 4
  partitioning: { strategy: hash, key: customer_id, partitions: 8 }
rate: { rule: writes }
deadLetters: { file: rejected.ndjson }
maxRejected: 10%
`

describe('sluice work', () => {
  it('loads a file at the rate of the policy, masks, rejects, and does not load it again', async () => {
    await pool.query('CREATE TABLE customers (customer_id int PRIMARY KEY, email text)')
    const rows = Array.from({ length: 900 }, (_, i) => `${i === 7 ? 'seven' : i},user${i}@mail.example`)
    write('customers.csv.gz', gzipSync(['customer_id,email', ...rows, ''].join('\n')))
    const document = write('load.yaml', load)
    const args = [
      'work',
      document,
      '--port',
      '0',
      '--json',
      '--policy',
      write('sluice.yaml', rate),
      '--redis',
      redis.url,
    ]
    const env = { CUSTOMERS_DB: postgres.url }
    const first = await runCli(args, { env })
    expect(first.code, first.err).toBe(0)
    expect(first.json()).toMatchObject({
      runs: [{ name: 'load-customers', outcome: 'done', read: 900, written: 899, rejected: 1 }],
    })
    const { rows: found } = await pool.query('SELECT count(*)::int AS count, min(email) AS email FROM customers')
    expect(found).toEqual([{ count: 899, email: 'u***@mail.example' }])
    expect(JSON.parse(readFileSync(join(folder, 'rejected.ndjson'), 'utf8'))).toMatchObject({
      pipeline: 'load-customers',
      reason: expect.stringContaining('"seven"'),
    })
    const again = await runCli(args, { env })
    expect(again.json()).toMatchObject({ runs: [{ outcome: 'done', read: 0 }] })
  })

  it('checks documents, and names the path, the value and the remedy of each mistake', async () => {
    const good = await runCli(['work', write('good.yaml', load), '--check', '--json'])
    expect([good.code, good.json()]).toEqual([0, { valid: true, pipelines: ['load-customers'] }])
    const bad = await runCli(['work', write('bad.yaml', load.replace('batchSize: 1000', 'batchSize: 0')), '--check'])
    expect([bad.code, bad.err]).toEqual([1, expect.stringContaining('execution.batchSize is 0; use a whole number')])
  })

  it('refuses two pipelines of one name, which would share positions, and says which document has a mistake', async () => {
    const [one, two] = ['a', 'b'].map((name) =>
      write(`${name}.yaml`, `name: load\nsource: { file: ${name} }\nsink: { file: o }\n`),
    )
    const same = await runCli(['work', one!, two!, '--check'])
    expect([same.code, same.err]).toEqual([1, expect.stringContaining('b.yaml: name is "load"; ')])
    const mistake = await runCli(['work', one!, write('c.yaml', 'name: c\nsource: { file: c }\n'), '--check'])
    expect([mistake.code, mistake.err]).toEqual([1, expect.stringContaining('c.yaml: sink is undefined')])
  })

  it('names a module that is not there, or that has nothing to use', async () => {
    write('nothing.mjs', '')
    for (const [module, why] of [
      ['./absent.mjs', 'there is no file'],
      ['./nothing.mjs', 'it needs a default export'],
    ]) {
      const document = write('use.yaml', `name: use\nsource: { use: ${module} }\nsink: { file: o }\n`)
      const ran = await runCli(['work', document, '--port', '0'])
      expect([ran.code, ran.err]).toEqual([2, expect.stringContaining(`use is "${module}"; ${why}`)])
      expect(ran.err).not.toContain('    at ')
    }
  })

  it('says what fails while it tries again, and does not end a load with 0 that was stopped', async () => {
    write('away.ndjson', '{"id":1}\n')
    const document = 'name: away\nsource: { file: away.ndjson }\nsink: { postgres: t }\n'
    for (const json of [[], ['--json']]) {
      const child = startCli(['work', write('away.yaml', document), '--port', '0', ...json], {
        env: { DATABASE_URL: 'postgres://app@127.0.0.1:1/db' },
      })
      let err = ''
      child.stderr?.on('data', (chunk) => {
        err += chunk
      })
      const ended = new Promise((resolve) => child.on('close', resolve))
      await waitFor(() => /away: claim failed, again in .*ECONNREFUSED/.test(err), { timeoutMs: 30_000 })
      child.kill('SIGTERM')
      expect(await ended, err).toBe(130)
    }
  })

  it('says which variable is missing', async () => {
    const ran = await runCli(['work', write('secret.yaml', load.replace(/^rate.*$/m, '')), '--port', '0'])
    expect([ran.code, ran.err]).toEqual([2, expect.stringContaining('set the variable CUSTOMERS_DB')])
  })

  it('shows no secret, whatever fails', async () => {
    write('rows.ndjson', '{"id":1}\n')
    const database = 'name: db\nsource: { file: rows.ndjson }\nsink: { postgres: t, url: env:SECRET_DB }\n'
    const kafka = `
name: kafka
source: { kafka: t, brokers: 127.0.0.1:1, group: g, username: env:KAFKA_USER, password: file:kafka-password }
sink: { file: out.ndjson }
execution: { mode: streaming }
`
    write('kafka-password', 'word-in-file\n')
    const env = { SECRET_DB: 'postgres://app:word-in-url@127.0.0.1:1/db', KAFKA_USER: 'word-in-env' }
    const child = startCli(['work', write('db.yaml', database), write('kafka.yaml', kafka), '--port', '0'], { env })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk) => {
        output += chunk
      })
    const ended = new Promise((resolve) => child.on('close', resolve))
    const [, url = ''] = await waitFor(() => /metrics at (http:\S+)/.exec(output))
    const stats = async () => (await fetch(`${url}/stats`)).json() as Promise<{ pipelines: { failures: number }[] }>
    await waitFor(async () => (await stats()).pipelines.every(({ failures }) => failures > 0), { timeoutMs: 60_000 })
    for (const path of ['stats', 'health', 'ready', 'metrics']) output += await (await fetch(`${url}/${path}`)).text()
    child.kill('SIGTERM')
    await ended
    expect(output).toContain('"pipelines"')
    expect(output).not.toMatch(/word-in/)
  }, 120_000)

  it('writes nothing in a dry run', async () => {
    await pool.query('CREATE TABLE dry (id int)')
    write('dry.ndjson', '{"id":1}\n{"id":2}\n')
    const document = write('dry.yaml', 'name: dry\nsource: { file: dry.ndjson }\nsink: { postgres: dry }\n')
    const ran = await runCli(['work', document, '--dry-run', '--port', '0', '--json'], {
      env: { DATABASE_URL: postgres.url },
    })
    expect(ran.json()).toMatchObject({ runs: [{ read: 2, written: 2 }] })
    expect((await pool.query('SELECT * FROM dry')).rows).toEqual([])
  })

  it('streams until SIGTERM, answers probes by progress, and leaves nothing unacknowledged', async () => {
    await pool.query('CREATE TABLE events (id int)')
    for (let id = 0; id < 50; id++) await redis.cli('XADD', 'events', '*', 'value', JSON.stringify({ id }))
    const document = `
name: events
source: { redis-stream: events, group: workers }
sink: { postgres: events, positions: false }
executionConfig: { mode: streaming, batchSize: 100, parallelism: 2, checkpointIntervalMs: 30000 }
`
    const child = startCli(['work', write('events.yaml', document), '--port', '0', '--redis', redis.url], {
      env: { DATABASE_URL: postgres.url },
    })
    let err = ''
    child.stderr?.on('data', (chunk) => {
      err += chunk
    })
    const ended = new Promise((resolve) => child.on('close', resolve))
    const [, url = ''] = await waitFor(() => /metrics at (http:\S+)/.exec(err))
    const count = async () => (await pool.query('SELECT count(*)::int AS count FROM events')).rows[0].count
    await waitFor(async () => (await count()) === 50)
    expect((await fetch(`${url}/health`)).status).toBe(200)
    expect((await fetch(`${url}/ready`)).status).toBe(200)
    expect(await (await fetch(`${url}/metrics`)).text()).toContain(
      'sluice_pipeline_records_total{pipeline="events",outcome="written"} 50',
    )
    expect(await (await fetch(`${url}/stats`)).json()).toMatchObject({ pipelines: [{ name: 'events', written: 50 }] })
    child.kill('SIGTERM')
    expect(await ended, err).toBe(0)
    expect((await redis.cli<Reply[]>('XPENDING', 'events', 'workers'))[0]).toBe(0)
  })
})
