import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'pg'
import {
  type MongodServer,
  type MongodUnavailable,
  type PostgresServer,
  type RedisServer,
  startMongod,
  startPostgres,
  startRedis,
  waitFor,
} from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { commands } from './commands.ts'
import { buildCli, cli, runCli } from './testing/run-cli.ts'
import { type Deployed, tryDeployed } from './testing/start-deployed.ts'

interface Container {
  readonly args: readonly string[]
  readonly env: readonly {
    readonly name: string
    readonly value?: string
    readonly valueFrom?: { readonly secretKeyRef: { readonly key: string } }
  }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
}

const deploy = join(import.meta.dirname, '../../../../deploy')
const documentsOf = (file: string) =>
  parseAllDocuments(readFileSync(join(deploy, file), 'utf8'), { merge: true }).map((each) => each.toJS())
const folder = mkdtempSync(join(tmpdir(), 'sluice-deployed-'))
const words = { '/etc/sluice': join(folder, 'files'), '/run/secrets/sluice': join(folder, 'secrets') }
let redis: RedisServer
let postgres: PostgresServer
let mongodb: MongodServer | MongodUnavailable
let secrets: Record<string, string>

beforeAll(async () => {
  buildCli()
  ;[redis, postgres, mongodb] = await Promise.all([startRedis(), startPostgres(), startMongod()])
  secrets = {
    'redis-url': redis.url,
    'database-url': postgres.url,
    'admin-token': 'token-of-the-admins',
    'proxy-tokens': 'worker token-of-the-worker',
    'collect-token': 'token-of-the-agents',
    'vendor-authorization': 'Bearer of-the-vendor',
  }
  const [{ data }] = documentsOf('kubernetes/files.yaml')
  for (const [place, texts] of [
    ['files', data],
    ['secrets', secrets],
  ] as const) {
    mkdirSync(join(folder, place))
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, place, name), text as string)
  }
}, 180_000)
afterAll(async () => {
  await Promise.all([redis.stop(), postgres.stop(), mongodb.available && mongodb.stop()])
  rmSync(folder, { recursive: true, force: true })
})

describe('a tier of the manifests for Kubernetes', () => {
  const containerOf = (tier: string): Container => {
    const workload = documentsOf(`kubernetes/${tier}.yaml`).find(({ kind }) => /Deployment|CronJob/.test(kind))
    return (workload.spec.jobTemplate?.spec ?? workload.spec).template.spec.containers[0]
  }
  const deployedOf = ({ args, env }: Container): Deployed => ({
    program: cli,
    args,
    env: Object.fromEntries(
      env.map(({ name, value, valueFrom }) => [name, value ?? secrets[valueFrom!.secretKeyRef.key]!]),
    ),
  })

  test.each(['serve', 'proxy', 'collect', 'work'])(
    '%s starts as it is written, and becomes ready',
    async (tier) => {
      const container = containerOf(tier)
      const { options } = commands.find(({ name }) => name === container.args[0])!
      const http = container.ports!.find(({ name }) => name === 'http')!
      expect(String(http.containerPort)).toBe(options.port!.default)
      await tryDeployed(deployedOf(container), words)
    },
    120_000,
  )

  test('load has a document that makes sense', async () => {
    const { args } = containerOf('load')
    const here = args.map((word) => word.replace('/etc/sluice', words['/etc/sluice']))
    expect(await runCli([...here, '--check'])).toMatchObject({ code: 0 })
  })
})

describe('a service of the compose file', () => {
  const { services } = documentsOf('docker/compose.yaml')[0] as {
    services: Record<string, { command?: string[]; environment: Record<string, string>; ports: string[] }>
  }
  const deployedOf = (name: string, program = cli): Deployed => ({
    program,
    args: services[name]!.command ?? [],
    env: Object.fromEntries(
      Object.entries(services[name]!.environment).map(([variable, value]) => [
        variable,
        value.replaceAll(/\$\{\w+:\?[^}]*\}/g, 'secret-of-the-tests'),
      ]),
    ),
  })
  const wordsHere = (): Record<string, string> => ({
    '/etc/sluice': join(deploy, 'docker/config'),
    'redis://redis:6379': redis.url,
    'mongodb://mongodb:27017': mongodb.available ? mongodb.url : '',
    'postgres://sluice:secret-of-the-tests@postgres:5432/sluice': postgres.url,
  })

  test.each(['daemon', 'proxy'])(
    '%s starts as it is written, and becomes ready',
    async (name) => {
      const [command] = services[name]!.command!
      const { options } = commands.find((each) => each.name === command)!
      expect(services[name]!.ports[0]).toBe(`127.0.0.1:${options.port!.default}:${options.port!.default}`)
      await tryDeployed(deployedOf(name), wordsHere())
    },
    120_000,
  )

  test('worker brings what is added to the stream into the table that PostgreSQL makes at its first start', async () => {
    const pool = new Pool({ connectionString: postgres.url })
    await pool.query(readFileSync(join(deploy, 'docker/events.sql'), 'utf8'))
    await tryDeployed(deployedOf('worker'), wordsHere(), async () => {
      await redis.cli('XADD', 'events', '*', 'id', '1', 'kind', 'click')
      const written = async () => (await pool.query('select id, kind from events')).rows
      await waitFor(async () => (await written()).length > 0, { describe: 'the row', timeoutMs: 30_000 })
      expect(await written()).toEqual([{ id: '1', kind: 'click' }])
    })
    await pool.end()
  }, 120_000)

  test('sentiment limits by what is in a request', async ({ skip }) => {
    if (!mongodb.available) return skip(mongodb.why)
    const program = join(deploy, '../examples/sentiment-service/dist/main.js')
    return tryDeployed(deployedOf('sentiment', program), wordsHere(), async (url) => {
      const body = JSON.stringify({ tenant_id: 'client-corp', language: 'en', text: 'I love it' })
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`${url}/v1/analyze`, { method: 'POST', headers, body })
      expect([answer.status, answer.headers.has('ratelimit')]).toEqual([200, true])
    })
  }, 120_000)
})
