// Debian and Ubuntu packages: installing them without starting their services, and fetching one from another suite.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run, runAsRoot } from './machine.mjs'

const quiet = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } }
const policyFile = '/usr/sbin/policy-rc.d'

/** Installs packages and leaves their services stopped. `options` are further apt options. */
export function install(packages, options = []) {
  return withoutStartingServices(() =>
    runAsRoot('apt-get', [...options, 'install', '-y', '-q', '--no-install-recommends', ...packages], quiet),
  )
}

export function update(options = []) {
  return runAsRoot('apt-get', [...options, 'update', '-q'], quiet)
}

/** invoke-rc.d asks policy-rc.d before it starts anything; exit code 101 forbids it. An existing file is respected. */
function withoutStartingServices(action) {
  if (existsSync(policyFile)) return action()
  const script = `printf '#!/bin/sh\\nexit 101\\n' > ${policyFile} && chmod 755 ${policyFile}`
  const written = runAsRoot('sh', ['-c', script])
  if (!written.ok) return written
  try {
    return action()
  } finally {
    runAsRoot('rm', ['-f', policyFile])
  }
}

/** The archives this machine already uses, e.g. a main and a security archive. */
function archives() {
  const { stdout } = run('apt-get', ['indextargets', '--format', '$(REPO_URI) $(RELEASE)'])
  const rows = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split(' '))
  return [...new Map(rows.map(([uri, release]) => [uri, release])).entries()].map(([uri, release]) => ({
    uri,
    release,
  }))
}

/**
 * Apt options for a source list of our own with another suite of the machine's archives; its configuration stays as it
 * is.
 */
export function otherSuite(suite, directory, more = []) {
  const lists = join(directory, 'lists')
  const archivesDirectory = join(directory, 'archives')
  mkdirSync(join(lists, 'partial'), { recursive: true })
  mkdirSync(join(archivesDirectory, 'partial'), { recursive: true })
  const lines = archives().flatMap(({ uri, release }) => {
    const suites = release.endsWith('-security') ? [`${suite}-security`] : [suite, ...more]
    return suites.map((each) => `deb ${uri} ${each} main`)
  })
  const sourceList = join(directory, 'sources.list')
  writeFileSync(sourceList, `${[...new Set(lines)].join('\n')}\n`)
  return [
    ...['-o', `Dir::Etc::sourcelist=${sourceList}`, '-o', 'Dir::Etc::sourceparts=-'],
    ...['-o', `Dir::State::lists=${lists}`, '-o', `Dir::Cache::archives=${archivesDirectory}`],
    ...['-o', 'Dir::Cache::pkgcache=', '-o', 'Dir::Cache::srcpkgcache='],
    // An old suite is no longer re-signed; what is downloaded from it is checked against a sha256 of our own.
    ...['-o', 'Acquire::Check-Valid-Until=false', '-o', 'Acquire::Retries=1', '-o', 'Acquire::http::Timeout=10'],
  ]
}

/**
 * Downloads one package of another suite into `directory`, which need not be root's; answers `{ ok, output, file }`.
 */
export function download(packageName, version, suite, directory) {
  const options = otherSuite(suite, directory)
  run('apt-get', [...options, 'update', '-q'])
  const result = run('apt-get', [...options, 'download', `${packageName}=${version}`], { cwd: directory })
  const file = readdirSync(directory).find((name) => name.startsWith(`${packageName}_`) && name.endsWith('.deb'))
  return { ...result, file: file && join(directory, file) }
}
