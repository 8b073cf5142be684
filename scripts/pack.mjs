// Packs the packages as they are published, from a staged copy: without the `sluice-source` condition, which points
// into src/ and exists only for work inside the repository. `node scripts/pack.mjs <directory>` writes the tarballs.
// With SLUICE_REPOSITORY, such as https://github.com/<owner>/<name>, they name it and link to its documentation. The
// release workflow sets it; no address is written here that may be wrong.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The packages that are published. */
export const published = ['sluice', 'server']

function withoutSourceCondition(value) {
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([name]) => name !== 'sluice-source')
  return Object.fromEntries(entries.map(([name, inner]) => [name, withoutSourceCondition(inner)]))
}

/** What a manifest says about where its sources are. */
function addressesOf(repository, directory) {
  return {
    homepage: `${repository}#readme`,
    repository: { type: 'git', url: `git+${repository}.git`, directory },
    bugs: { url: `${repository}/issues` },
  }
}

/** On the page of a registry a relative link is broken: it leads to the repository, or is text. */
function withLinks(text, version, repository) {
  return text.replace(/\[([^\]]+)\]\(\.\.\/\.\.\/([^)]+)\)/g, (_, name, path) =>
    repository === undefined ? name : `[${name}](${repository}/blob/v${version}/${path})`,
  )
}

/** Packs one built package into `destination` and answers the path of the tarball. */
export function pack(name, destination, repository = process.env.SLUICE_REPOSITORY) {
  const home = join(root, 'packages', name)
  const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  const stage = mkdtempSync(join(tmpdir(), 'sluice-pack-'))
  try {
    const exports = withoutSourceCondition(manifest.exports)
    // npm takes the README and the licence along by itself, the changes only if they are listed.
    const files = [...manifest.files, 'CHANGELOG.md']
    const addresses = repository === undefined ? {} : addressesOf(repository, `packages/${name}`)
    const staged = { ...manifest, ...addresses, files, exports }
    writeFileSync(join(stage, 'package.json'), `${JSON.stringify(staged, null, 2)}\n`)
    for (const file of manifest.files) {
      if (!existsSync(join(home, file))) throw new Error(`packages/${name}/${file} is not there: run npm run build`)
      cpSync(join(home, file), join(stage, file), { recursive: true, filter: (path) => basename(path) !== '.built' })
    }
    const readme = readFileSync(join(home, 'README.md'), 'utf8')
    writeFileSync(join(stage, 'README.md'), withLinks(readme, manifest.version, repository))
    for (const file of ['LICENSE', 'CHANGELOG.md']) cpSync(join(root, file), join(stage, file))
    mkdirSync(destination, { recursive: true })
    const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', resolve(destination)]
    const result = spawnSync('npm', args, { cwd: stage, encoding: 'utf8' })
    if (result.status !== 0) throw new Error(`npm pack: ${result.stderr}`)
    return join(resolve(destination), result.stdout.trim().split('\n').at(-1))
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const name of published) console.log(pack(name, process.argv[2] ?? '.cache/packed'))
}
