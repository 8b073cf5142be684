import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sourceConformance } from '../../../testing/source-conformance.ts'
import { waitFor } from '../../../testing/wait-for.ts'
import type { LivePolicy } from '../../live/live-policy.ts'
import { openPolicy } from '../../live/open-policy.ts'
import { filePolicy } from './file.ts'

const text = (version: string): string =>
  `service: shop\nversion: ${version}\nrules:\n  - { name: all, key: [ip], limits: { rpm: 10 } }\n`

async function folderPlace(poll: number) {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-file-'))
  const path = (name: string): string => join(folder, `${name}.json`)
  return {
    open: (name: string) => filePolicy(path(name), { poll }),
    write: (name: string, document: object) => writeFile(path(name), JSON.stringify(document)),
    writeNonsense: (name: string) => writeFile(path(name), '{ "service": "tru'),
    remove: (name: string) => rm(path(name)),
    close: () => rm(folder, { recursive: true }),
  }
}

const framework = { describe, it, beforeAll, afterAll }
// An hour: only watching can bring the change.
sourceConformance(framework, { name: 'filePolicy, watched', start: () => folderPlace(3_600_000) })

describe('filePolicy', () => {
  let folder: string
  const live: LivePolicy[] = []

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-file-'))
  })

  afterEach(async () => {
    await Promise.all(live.splice(0).map((each) => each.close()))
    await rm(folder, { recursive: true, force: true })
  })

  async function follow(path: string, pollMs = 3_600_000): Promise<LivePolicy> {
    const policy = await openPolicy(filePolicy(path, { poll: pollMs }))
    live.push(policy)
    return policy
  }

  const isOn = (policy: LivePolicy, version: string) =>
    waitFor(() => policy.current.version === version, { describe: `version ${version}` })

  it('survives an editor that replaces the file, again and again', async () => {
    const path = join(folder, 'sluice.yaml')
    await writeFile(path, text('v0'))
    const policy = await follow(path)
    for (let i = 1; i <= 5; i++) {
      await writeFile(`${path}.swp`, text(`v${i}`))
      await rename(path, `${path}~`)
      await rename(`${path}.swp`, path)
      await isOn(policy, `v${i}`)
    }
  })

  it('follows the links that Kubernetes swaps', async () => {
    const publish = async (version: string): Promise<void> => {
      await mkdir(join(folder, `..${version}`))
      await writeFile(join(folder, `..${version}`, 'sluice.yaml'), text(version))
      await symlink(`..${version}`, join(folder, '..data_tmp'))
      await rename(join(folder, '..data_tmp'), join(folder, '..data'))
    }
    await publish('v0')
    await symlink(join('..data', 'sluice.yaml'), join(folder, 'sluice.yaml'))
    const policy = await follow(join(folder, 'sluice.yaml'))
    for (const version of ['v1', 'v2', 'v3']) {
      await publish(version)
      await isOn(policy, version)
      await rm(join(folder, `..v${Number(version.slice(1)) - 1}`), { recursive: true })
    }
  })

  it('follows a link to a file elsewhere, which changes there', async () => {
    await mkdir(join(folder, 'elsewhere'))
    const target = join(folder, 'elsewhere', 'policy.yaml')
    await writeFile(target, text('v0'))
    await symlink(target, join(folder, 'sluice.yaml'))
    const policy = await follow(join(folder, 'sluice.yaml'))
    await writeFile(target, text('v1'))
    await isOn(policy, 'v1')
  })

  it('refuses a truncated file, and loads it when it is whole', async () => {
    const path = join(folder, 'sluice.yaml')
    await writeFile(path, text('v0'))
    const policy = await follow(path)
    await writeFile(path, text('v1').slice(0, -20))
    await waitFor(() => policy.status.lastError, { describe: 'the refusal' })
    expect(policy.current.version).toBe('v0')
    await writeFile(path, text('v1'))
    await isOn(policy, 'v1')
    expect(policy.status.lastError).toBeUndefined()
  })

  it('polls when the folder is taken away, and finds a new one', async () => {
    await mkdir(join(folder, 'config'))
    const path = join(folder, 'config', 'sluice.yaml')
    await writeFile(path, text('v0'))
    const policy = await follow(path, 20)
    await rm(join(folder, 'config'), { recursive: true })
    await waitFor(() => policy.status.lastError, { describe: 'the loss to be noticed' })
    await mkdir(join(folder, 'config'))
    await writeFile(path, text('v1'))
    await isOn(policy, 'v1')
    expect(policy.status.lastError).toBeUndefined()
  })

  it('refuses what is no file', async () => {
    await expect(follow(folder)).rejects.toMatchObject({ code: 'SLUICE_SOURCE_FAILED' })
    expect(() => filePolicy('')).toThrow(/path is ""/)
    expect(() => filePolicy('sluice.yaml', { poll: 0 })).toThrow(/poll is 0/)
  })

  it('keeps every pushed version, and what was edited by hand between', async () => {
    const path = join(folder, 'sluice.yaml')
    await writeFile(path, text('by-hand'))
    const source = filePolicy(path)
    expect(await source.archive.push(text('v2'))).toBe(2)
    expect(await source.archive.push({ service: 'shop', version: 'v3', rules: [] })).toBe(3)
    expect(await readFile(path, 'utf8')).toContain('version: v3')
    const history = await source.archive.history(2)
    expect(history.map(({ revision }) => revision)).toEqual([3, 2])
    expect(history[1]).toMatchObject({ document: text('v2'), createdAt: expect.any(Date) })
    expect(await source.archive.history(10)).toHaveLength(3)
    expect((await readdir(folder)).sort()).toEqual(['sluice.yaml', 'sluice.yaml.history'])
  })

  it('keeps the versions of a file with any ending', async () => {
    const { archive } = filePolicy(join(folder, 'sluice.yaml-next'))
    for (const revision of [1, 2, 3]) expect(await archive.push(text(`v${revision}`))).toBe(revision)
    expect((await archive.history(10)).map(({ revision }) => revision)).toEqual([3, 2, 1])
  })

  it('lets only one of several push after the same revision', async () => {
    const { archive } = filePolicy(join(folder, 'sluice.yaml'))
    await archive.push(text('v0'))
    const after = (await archive.history(1))[0]?.revision ?? 0
    const pushes = await Promise.allSettled([1, 2, 3, 4].map((i) => archive.push(text(`v${i}`), { after })))
    expect(pushes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const push of pushes)
      if (push.status === 'rejected') expect(push.reason).toMatchObject({ code: 'SLUICE_POLICY_CHANGED' })
    await expect(archive.push(text('late'), { after })).rejects.toMatchObject({ code: 'SLUICE_POLICY_CHANGED' })
    const [newest] = await archive.history(1)
    expect(await archive.push(text('next'), { after: newest!.revision })).toBeGreaterThan(newest!.revision)
  })

  it('gives two that push at once two revisions', async () => {
    const { archive } = filePolicy(join(folder, 'sluice.yaml'))
    const revisions = await Promise.all([1, 2, 3, 4].map((i) => archive.push(text(`v${i}`))))
    expect(new Set(revisions).size).toBe(4)
  })
})
