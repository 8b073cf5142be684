import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, loadavg } from 'node:os'
import { dirname, join } from 'node:path'
import { findBinary } from '../packages/sluice/src/testing/servers/binary.ts'

const packages = ['sluice', 'ioredis', 'rate-limiter-flexible', 'rate-limit-redis', '@upstash/ratelimit']

/** The versions and the machine of the measurement. */
export function surroundings(): Record<string, string> {
  const { model = 'unknown', length } = { model: cpus()[0]?.model.trim(), length: cpus().length }
  return {
    date: new Date().toISOString(),
    cpu: `${length} x ${model}`,
    load: loadavg()[0]!.toFixed(2),
    node: process.version,
    redis: redisVersion(),
    ...Object.fromEntries(packages.map((name) => [name, versionOf(name)])),
  }
}

function redisVersion(): string {
  const server = findBinary(['redis-server', 'valkey-server'])
  return server ? (/v=(\S+)/.exec(execFileSync(server, ['--version'], { encoding: 'utf8' }))?.[1] ?? 'unknown') : 'none'
}

/** Packages do not all export their package.json, so it is looked for above the file they load. */
function versionOf(name: string): string {
  let folder = dirname(createRequire(import.meta.url).resolve(name))
  while (!existsSync(join(folder, 'package.json')) || manifest(folder).name !== name) folder = dirname(folder)
  return manifest(folder).version
}

function manifest(folder: string): { name?: string; version: string } {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}
