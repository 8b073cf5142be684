import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseDocument } from '../../packages/sluice/src/policy/document/parse/parse-document.ts'
import { shippedLicences } from './licences.ts'

const root = join(import.meta.dirname, '..', '..')
const workflows = join(root, '.github', 'workflows')
const read = (file: string): string => readFileSync(join(workflows, file), 'utf8')

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<
    Record<
      string,
      { readonly permissions?: object; readonly steps: readonly { readonly uses?: string; readonly run?: string }[] }
    >
  >
}

const releaseFile = '../../scripts/release.mjs'
const { releaseChanges, releaseManifest } = (await import(releaseFile)) as {
  releaseChanges(text: string, next: string, date: string): string
  releaseManifest(manifest: object, next: string): object
}

/** Licences that ask for no more than to be named. */
const accepted = ['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'BlueOak-1.0.0']

describe('what comes with the packages', () => {
  it('has licences that every user can accept', () => {
    const licences = shippedLicences()
    expect(licences.size).toBeGreaterThan(40)
    expect([...licences].filter(([, licence]) => !accepted.includes(licence))).toEqual([])
  })
})

describe('workflows', () => {
  it.each(readdirSync(workflows))('%s pins every action to a commit', (file) => {
    const uses = [...read(file).matchAll(/uses: (.+)/g)].map((match) => match[1]!)
    expect(uses.length).toBeGreaterThan(0)
    expect(uses.filter((each) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(each))).toEqual([])
  })

  it.each(readdirSync(workflows))('%s may only read, unless a job says otherwise', (file) => {
    expect((parseDocument(read(file)) as Workflow).permissions).toEqual({ contents: 'read' })
  })

  it('publish from a job that alone has the right to, and that installs and checks out nothing', () => {
    const { jobs } = parseDocument(read('release.yml')) as Workflow
    const entitled = Object.entries(jobs).filter(([, { permissions }]) => permissions !== undefined)
    expect(entitled.map(([name, { permissions }]) => [name, permissions])).toEqual([
      ['publish', { 'id-token': 'write' }],
    ])
    const steps = jobs.publish!.steps.map(({ uses = '', run = '' }) => uses || run)
    expect(steps.filter((step) => /checkout|npm (ci|install|i|exec)|npx|node scripts/.test(step))).toEqual([])
    const published = steps.filter((step) => step.startsWith('npm publish'))
    expect(published).toHaveLength(2)
    for (const step of published) expect(step).toContain('--ignore-scripts --provenance')
  })
})

describe('a release', () => {
  const changes = '# Changelog\n\n## [Unreleased]\n\n- a\n\n## [0.1.0] - 2026-01-01\n\n- b\n'

  it('puts what is unreleased under its version', () => {
    expect(releaseChanges(changes, '0.2.0', '2026-02-01')).toBe(
      '# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-02-01\n\n- a\n\n## [0.1.0] - 2026-01-01\n\n- b\n',
    )
    expect(() => releaseChanges(changes.replace('- a\n', ''), '0.2.0', '2026-02-01')).toThrow('nothing under')
  })

  it('makes the daemon need the library of its own version', () => {
    expect(releaseManifest({ version: '0.1.0', dependencies: { hono: '^4', sluice: '0.1.0' } }, '0.2.0')).toEqual({
      version: '0.2.0',
      dependencies: { hono: '^4', sluice: '0.2.0' },
    })
  })
})
