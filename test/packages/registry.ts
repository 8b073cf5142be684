import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)

type Manifest = { readonly name: string; readonly version: string } & Readonly<Record<string, unknown>>
/** One version of a package: its manifest, and how to get its tarball. */
interface Published {
  readonly manifest: Manifest
  tarball(): Promise<Buffer>
}

/** An npm registry on this machine. */
export interface Registry {
  readonly url: string
  stop(): Promise<void>
}

/**
 * Serves the given tarballs, and as their dependencies the packages of this repository's `node_modules`. So the package
 * managers resolve names and ranges as they do for a user, and nothing is downloaded.
 */
export async function startRegistry(tarballs: readonly string[]): Promise<Registry> {
  const all = [...(await Promise.all(tarballs.map(fromTarball))), ...installed()]
  // One version may be installed in several places.
  const published = [...new Map(all.map((each) => [`${each.manifest.name}@${each.manifest.version}`, each])).values()]
  const server = createServer(async (request, response) => {
    const [name = '', version] = decodeURIComponent(request.url!.slice(1)).split('/-/')
    const versions = published.filter(({ manifest }) => manifest.name === name)
    if (versions.length === 0) return response.writeHead(404).end('{}')
    if (version === undefined) {
      const body = JSON.stringify(await packument(versions, `http://${request.headers.host}`))
      return response.writeHead(200, { 'content-type': 'application/json' }).end(body)
    }
    const asked = versions.find(({ manifest }) => `${manifest.version}.tgz` === version)
    return asked ? response.end(await asked.tarball()) : response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function fromTarball(file: string): Promise<Published> {
  const { stdout } = await run('tar', ['-xzOf', file, 'package/package.json'])
  return { manifest: JSON.parse(stdout) as Manifest, tarball: async () => readFileSync(file) }
}

/** Every package that `npm ci` has installed here; those of other platforms are in the lock file only. */
function installed(): Published[] {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { link?: boolean }>
  }
  const folders = Object.entries(lock.packages).filter(([path, { link }]) => /(^|\/)node_modules\//.test(path) && !link)
  return folders.flatMap(([path]) => {
    const folder = join(root, path)
    if (!existsSync(join(folder, 'package.json'))) return []
    let packed: Promise<Buffer> | undefined
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
    return [{ manifest, tarball: () => (packed ??= packFolder(folder)) }]
  })
}

async function packFolder(folder: string): Promise<Buffer> {
  const stage = mkdtempSync(join(tmpdir(), 'sluice-registry-'))
  try {
    symlinkSync(folder, join(stage, 'package'))
    // Packages nested below it are separate packages.
    const args = ['--exclude=package/node_modules', '-czhf', '-', '-C', stage, 'package']
    const { stdout } = await run('tar', args, {
      encoding: 'buffer',
      maxBuffer: 2 ** 28,
      env: { ...process.env, GZIP: '-1' },
    })
    return stdout
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

/** The registry's document of a package: its versions, and where to download each. */
async function packument(versions: readonly Published[], url: string): Promise<object> {
  const { name } = versions[0]!.manifest
  const entries = await Promise.all(
    versions.map(async ({ manifest, tarball }) => {
      const hash = createHash('sha512')
        .update(await tarball())
        .digest('base64')
      const dist = { tarball: `${url}/${name}/-/${manifest.version}.tgz`, integrity: `sha512-${hash}` }
      return [manifest.version, { ...manifest, dist }] as const
    }),
  )
  const latest = versions
    .map(({ manifest }) => manifest.version)
    .sort(byVersion)
    .at(-1)
  // Yarn installs nothing that was published within the last days.
  const time = Object.fromEntries(entries.map(([version]) => [version, '2020-01-01T00:00:00.000Z']))
  return { name, 'dist-tags': { latest }, versions: Object.fromEntries(entries), time }
}

const byVersion = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true })
