import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { join } from 'node:path'

/** A runtime, the npm package that has its binary for this machine, and how it runs a program. */
export interface Runtime {
  readonly name: string
  readonly version: string
  readonly command: readonly string[]
}

const [os, cpu] = [platform(), arch()]
const binaries = [
  { name: 'Node 20', at: `npm:node-${os}-${cpu}@20`, path: 'bin/node', args: [] },
  { name: 'Node 22', at: `npm:node-${os}-${cpu}@22`, path: 'bin/node', args: [] },
  { name: 'Node 24', at: `npm:node-${os}-${cpu}@24`, path: 'bin/node', args: [] },
  { name: 'Bun', at: `npm:@oven/bun-${os}-${cpu}@1`, path: 'bin/bun', args: [] },
  {
    name: 'Deno',
    at: `npm:@deno/${os}-${cpu}${os === 'linux' ? '-glibc' : ''}@2`,
    path: 'deno',
    args: ['run', '--allow-all', '--node-modules-dir=manual', '--no-lock'],
  },
  { name: 'workerd', at: `npm:@cloudflare/workerd-${os}-${cpu === 'x64' ? '64' : cpu}`, path: 'bin/workerd', args: [] },
]

/** Downloads the runtimes into a folder, unless they are there. None of them is a dependency of the repository. */
export function fetchRuntimes(folder: string): Runtime[] {
  const aliasOf = (name: string): string => name.toLowerCase().replace(' ', '')
  const homeOf = (name: string): string => join(folder, 'node_modules', aliasOf(name))
  mkdirSync(folder, { recursive: true })
  if (!existsSync(join(folder, 'package.json'))) writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const missing = binaries.filter(({ name, path }) => !existsSync(join(homeOf(name), path)))
  if (missing.length > 0) {
    const packages = missing.map(({ name, at }) => `${aliasOf(name)}@${at}`)
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    execFileSync('npm', ['install', ...quiet, ...packages], { cwd: folder, stdio: 'inherit' })
  }
  return binaries.map(({ name, path, args }) => {
    const binary = join(homeOf(name), path)
    const [version = ''] =
      /\d+(\.\d+)+|\d{4}-\d\d-\d\d/.exec(execFileSync(binary, ['--version'], { encoding: 'utf8' })) ?? []
    return { name, version, command: [binary, ...args] }
  })
}
