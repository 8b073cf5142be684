// Runs the packed library in every runtime, with every Redis client, on every server, and writes the table of
// docs/operate/compatibility.md. `npm run test:matrix`; fails if anything in the table failed.
import { execFile, execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RedisServer, startRedis } from '../../packages/sluice/src/testing/servers/redis.ts'
import { pack } from '../packages/pack.ts'
import { fetchRuntimes, type Runtime } from './runtimes.ts'
import { askWorkerd } from './workerd.ts'

const root = join(import.meta.dirname, '..', '..')
const page = join(root, 'docs', 'operate', 'compatibility.md')
const machine = '../../scripts/machine.mjs'
const { machineCache } = (await import(machine)) as { machineCache(): string }
const clients = ['ioredis5', 'ioredis', 'redis5', 'redis']
const versionOf = (name: string): string =>
  (JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')) as { version: string }).version

/** A folder in which `import 'sluice'` is the packed library. */
function install(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-matrix-'))
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  execFileSync('tar', ['-xzf', pack('sluice', folder), '-C', folder])
  cpSync(join(folder, 'package'), join(modules, 'sluice'), { recursive: true })
  for (const name of ['yaml', 'zod', 'undici', ...clients])
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  for (const name of ['app.mjs', 'worker-app.mjs']) cpSync(join(import.meta.dirname, name), join(folder, name))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  return folder
}

const failures: string[] = []

/** A cell of the table. */
function run(folder: string, { name, command }: Runtime, ...args: string[]): Promise<string> {
  return new Promise((resolve) => {
    const [binary, ...first] = command
    execFile(binary!, [...first, 'app.mjs', ...args], { cwd: folder, timeout: 120_000 }, (error, stdout, stderr) => {
      const isRight = error === null && stdout.trim() === 'ok'
      if (!isRight) failures.push(`${name} ${args.join(' ')}: ${stdout}${stderr}`.slice(0, 2000))
      console.log(`${isRight ? 'ok    ' : 'FAILED'} ${name} ${args.join(' ')}`)
      resolve(isRight ? 'yes' : '**no**')
    })
  })
}

async function rowOf(folder: string, runtime: Runtime, servers: readonly RedisServer[]): Promise<string[]> {
  const row = [`${runtime.name} (${runtime.version})`]
  if (runtime.name === 'workerd') {
    const statuses = await askWorkerd(runtime.command, folder)
    const isRight = String(statuses) === '200,200,429'
    if (!isRight) failures.push(`workerd answered ${statuses}`)
    console.log(`${isRight ? 'ok    ' : 'FAILED'} workerd`)
    const cell = isRight ? 'yes' : '**no**'
    return [...row, cell, cell, ...clients.map(() => 'not offered')]
  }
  row.push(await run(folder, runtime, 'memory'), await run(folder, runtime, 'fetch'))
  for (const client of clients) {
    const cells: string[] = []
    for (const { port } of servers) cells.push(await run(folder, runtime, 'redis', client, String(port)))
    row.push(cells.find((cell) => cell !== 'yes') ?? 'yes')
  }
  return row
}

const servers = [await startRedis({ binary: 'redis-server' }), await startRedis({ binary: 'valkey-server' })]
const folder = install()
try {
  const infos = await Promise.all(servers.map((server) => server.info('server')))
  const names = infos.map((info) =>
    info.valkey_version ? `Valkey ${info.valkey_version}` : `Redis ${info.redis_version}`,
  )
  const head = [
    '',
    'memory',
    '`sluice/fetch`',
    ...clients.map((name) => `${name.startsWith('io') ? 'ioredis' : 'node-redis'} ${versionOf(name)}`),
  ]
  const rows = [head, head.map(() => '---')]
  for (const runtime of fetchRuntimes(join(machineCache(), 'runtimes')))
    rows.push(await rowOf(folder, runtime, servers))
  const table = rows.map((row) => `| ${row.join(' | ')} |`).join('\n')
  const about = `With a client: on ${names.join(' and on ')}.`
  const text = readFileSync(page, 'utf8')
  const written = text.replace(
    /(<!-- matrix -->\n)[\s\S]*?(<!-- end -->)/,
    (_, start, end) => `${start}\n${table}\n\n${about}\n\n${end}`,
  )
  if (failures.length === 0) writeFileSync(page, written)
  console.log(`${table}\n\n${about}`)
} finally {
  await Promise.all(servers.map((server) => server.stop()))
  rmSync(folder, { recursive: true, force: true })
}
for (const failure of failures) console.error(failure)
process.exitCode = failures.length === 0 ? 0 : 1
