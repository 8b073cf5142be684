// Finds or installs the servers the tests run against. `--check` only reports.
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as apt from './apt.mjs'
import { ensureHelm } from './helm.mjs'
import { findCommand, findLibrary, machineCache, run } from './machine.mjs'
import { ensureMongod } from './mongod.mjs'

const postgresPlaces = [
  '/usr/lib/postgresql/*/bin',
  '/opt/homebrew/opt/postgresql*/bin',
  '/usr/local/opt/postgresql*/bin',
]

const chromiumPlaces = ['/Applications/Chromium.app/Contents/MacOS']

const parts = [
  { command: 'redis-server', why: 'the Redis store', apt: 'redis-server', brew: 'redis', required: true },
  { command: 'redis-cli', why: 'to form a Redis Cluster', apt: 'redis-tools', brew: 'redis', required: true },
  {
    command: 'redis-benchmark',
    why: 'the ceiling in npm run bench',
    apt: 'redis-tools',
    brew: 'redis',
    required: true,
  },
  {
    command: 'initdb',
    why: 'policies in PostgreSQL',
    apt: 'postgresql',
    brew: 'postgresql@17',
    required: true,
    places: postgresPlaces,
  },
  { command: 'nginx', why: 'auth_request against the daemon', apt: 'nginx', brew: 'nginx', required: true },
  { command: 'haproxy', why: 'the recipe for HAProxy', apt: 'haproxy', brew: 'haproxy', required: false },
  { command: 'caddy', why: 'the recipe for Caddy', apt: 'caddy', brew: 'caddy', required: false },
  {
    command: 'chromium',
    why: 'the tests of the page',
    apt: 'chromium',
    brew: '--cask chromium',
    required: true,
    places: chromiumPlaces,
  },
  { command: 'promtool', why: 'to check metrics and alerts', apt: 'prometheus', brew: 'prometheus', required: true },
  {
    command: 'valkey-server',
    why: 'the Redis store on Valkey',
    apt: 'valkey-server',
    brew: 'valkey',
    required: false,
    suite: 'backports',
  },
  {
    command: 'librdkafka',
    why: 'a Kafka cluster for the tests of pipelines',
    apt: 'librdkafka1',
    brew: 'librdkafka',
    required: false,
    library: ['librdkafka.so.1', 'librdkafka.1.dylib'],
  },
]

const isThere = ({ command, places, library }) => (library ? findLibrary(library) : findCommand(command, places))
const missing = () => parts.filter((part) => !isThere(part))

/** Something optional that could not be had is not tried again at every test run, only once a day. */
const triedFile = (part) => join(machineCache(), `tried-${part.command}`)
function triedToday(part) {
  const age = Date.now() - (statSync(triedFile(part), { throwIfNoEntry: false })?.mtimeMs ?? 0)
  return age < 24 * 3600 * 1000
}
function rememberTry(part) {
  try {
    mkdirSync(machineCache(), { recursive: true })
    writeFileSync(triedFile(part), '')
  } catch {
    // A cache that cannot be written only costs another try.
  }
}

function installWithApt(wanted) {
  const required = wanted.filter((part) => part.required)
  let output = ''
  if (wanted.length > 0) output += apt.update().output
  if (required.length > 0) output += apt.install([...new Set(required.map((part) => part.apt))]).output
  for (const part of wanted.filter((each) => !each.required)) {
    const result = apt.install([part.apt])
    output += result.output
    if (!result.ok && part.suite) output += installFromSuite(part)
  }
  return output
}

/** E.g. Valkey in Debian 12, which is in its backports only. The machine's own source lists stay untouched. */
function installFromSuite(part) {
  const codename = run('sh', ['-c', '. /etc/os-release && echo "$VERSION_CODENAME"']).stdout.trim()
  if (!codename) return ''
  const directory = mkdtempSync(join(tmpdir(), 'sluice-apt-'))
  try {
    const options = apt.otherSuite(codename, directory, [`${codename}-${part.suite}`])
    const updated = apt.update(options)
    const installed = apt.install(['-t', `${codename}-${part.suite}`, part.apt], options)
    return updated.output + installed.output
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function installWithBrew(wanted) {
  return wanted.map((part) => run('brew', ['install', part.brew]).output).join('')
}

const installer = () => {
  if (findCommand('apt-get')) return { column: 'apt', command: 'apt-get install', install: installWithApt }
  if (findCommand('brew')) return { column: 'brew', command: 'brew install', install: installWithBrew }
  return undefined
}

/** Says what to install, and answers whether the tests can run without it. */
function report(still, output) {
  const column = installer()?.column ?? 'apt'
  const hint = (part) => `${part.command} (${part.why}): install the package ${part[column]}`
  for (const part of still.filter((each) => !each.required)) {
    console.warn(`setup: NOT THERE, its tests will not run: ${hint(part)}`)
  }
  const required = still.filter((part) => part.required)
  if (required.length === 0) return true
  if (output) console.error(output.trim().split('\n').slice(-15).join('\n'))
  console.error('setup: the tests need these, and they could not be found or installed:')
  for (const part of required) console.error(`  - ${hint(part)}`)
  const names = [...new Set(required.map((part) => part[column]))].join(' ')
  console.error(`setup: as an administrator, run: ${installer()?.command ?? 'apt-get install'} ${names}`)
  return false
}

async function main() {
  const onlyCheck = process.argv.includes('--check')
  const wanted = missing().filter((part) => part.required || !triedToday(part))
  let output = ''
  if (wanted.length > 0 && !onlyCheck && installer()) {
    console.log(`setup: installing ${wanted.map((part) => part.command).join(', ')}`)
    output = installer().install(wanted)
    for (const part of missing()) if (!part.required) rememberTry(part)
  }
  const still = missing()
  const ok = report(still, output)
  const mongod = await ensureMongod({ onlyCheck })
  const helm = await ensureHelm({ onlyCheck })
  console.log(
    `setup: ${parts.length - still.length} of ${parts.length} servers and tools are there; MongoDB: ${mongod}; Helm: ${helm}`,
  )
  process.exitCode = ok ? 0 : 1
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main()
