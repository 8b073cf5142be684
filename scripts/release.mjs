// Prepares a release: `node scripts/release.mjs 0.2.0` writes the version into the manifests and the lock file, and
// gives what is unreleased in CHANGELOG.md its heading. It commits, tags and publishes nothing; a pushed tag does that.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { published } from './pack.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const version = /^\d+\.\d+\.\d+(-[a-z]+\.\d+)?$/

/** The changes with a heading for a version, above what was released before. */
export function releaseChanges(text, next, date) {
  const [, unreleased] = /^## \[Unreleased\]\n([\s\S]*?)(?=^## \[|$(?![\s\S]))/m.exec(text) ?? []
  if (!unreleased?.trim()) throw new Error('CHANGELOG.md has nothing under [Unreleased]')
  return text.replace(/^## \[Unreleased\]\n/m, `## [Unreleased]\n\n## [${next}] - ${date}\n`)
}

/** A manifest, or what the lock file has of it, with a version; the daemon needs the library of the same version. */
export function releaseManifest(manifest, next) {
  const { dependencies } = manifest
  return {
    ...manifest,
    version: next,
    ...(dependencies?.sluice ? { dependencies: { ...dependencies, sluice: next } } : {}),
  }
}

function edit(file, change) {
  const path = join(root, file)
  writeFileSync(path, change(readFileSync(path, 'utf8')))
}

function release(next) {
  if (!version.test(next)) throw new Error(`"${next}" is no version; use one such as 0.2.0 or 1.0.0-beta.1`)
  edit('CHANGELOG.md', (text) => releaseChanges(text, next, new Date().toISOString().slice(0, 10)))
  const asJson = (change) => (text) => `${JSON.stringify(change(JSON.parse(text)), null, 2)}\n`
  const folders = published.map((name) => `packages/${name}`)
  for (const folder of folders)
    edit(
      `${folder}/package.json`,
      asJson((manifest) => releaseManifest(manifest, next)),
    )
  edit(
    'package-lock.json',
    asJson((lock) => {
      for (const folder of folders) lock.packages[folder] = releaseManifest(lock.packages[folder], next)
      return lock
    }),
  )
  console.log(`Next: read the changes, then
  git commit -am "Release ${next}" && git tag -s v${next} -m v${next} && git push --follow-tags`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) release(process.argv[2] ?? '')
