import { builtIn } from '../../built-in.ts'
import { type PolicyArchive, type PolicyVersion, policyChanged, readPushOptions } from '../archive.ts'

/**
 * Writes a policy file, and keeps every version in `<file>.history/` beside it: `1.yaml`, `2.yaml` and so on. What was
 * edited by hand since the last push is kept as a version too, before it is replaced.
 */
export function fileArchive(file: string): PolicyArchive {
  const { mkdir, readdir, readFile, realpath, rename, rm, writeFile } = builtIn('fs/promises')
  const { extname, join } = builtIn('path')
  const folder = `${file}.history`
  const extension = extname(file) || '.yaml'

  async function revisions(): Promise<number[]> {
    const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw error
    })
    return names
      .filter((name) => name.endsWith(extension))
      .map((name) => name.slice(0, -extension.length))
      .filter((stem) => /^[1-9]\d{0,14}$/.test(stem))
      .map(Number)
      .sort((a, b) => b - a)
  }

  const pathOf = (revision: number): string => join(folder, `${revision}${extension}`)

  /** With a number of its own, or exactly as `exactly`: a second writer of the same number fails. */
  async function keep(text: string, exactly?: number): Promise<number> {
    for (;;) {
      const revision = exactly ?? ((await revisions())[0] ?? 0) + 1
      try {
        // Two that push at once get two numbers.
        await writeFile(pathOf(revision), text, { flag: 'wx' })
        return revision
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
        if (exactly !== undefined) throw policyChanged(exactly - 1)
      }
    }
  }

  return {
    async push(document, options) {
      const after = readPushOptions(options)
      const text = await asText(document, extension)
      await mkdir(folder, { recursive: true })
      const [latest] = await revisions()
      if (after !== undefined && (latest ?? 0) !== after) throw policyChanged(after)
      let next = after === undefined ? undefined : after + 1
      const former = await readFile(file, 'utf8').catch(() => undefined)
      const archived = latest === undefined ? undefined : await readFile(pathOf(latest), 'utf8')
      if (former !== undefined && former !== archived) {
        await keep(former, next)
        next = next && next + 1
      }
      const revision = await keep(text, next)
      // Written through links, and whole or not at all.
      const target = await realpath(file).catch(() => file)
      const draft = `${target}.${process.pid}.${revision}.tmp`
      try {
        await writeFile(draft, text, { flush: true })
        await rename(draft, target)
      } catch (error) {
        await Promise.all([rm(draft, { force: true }), rm(pathOf(revision), { force: true })])
        throw error
      }
      return revision
    },
    async history(limit) {
      const newest = (await revisions()).slice(0, limit)
      return Promise.all(newest.map((revision) => versionAt(pathOf(revision), revision)))
    },
  }
}

async function versionAt(path: string, revision: number): Promise<PolicyVersion> {
  const { readFile, stat } = builtIn('fs/promises')
  const [document, { mtime }] = await Promise.all([readFile(path, 'utf8'), stat(path)])
  return { revision, createdAt: mtime, document }
}

async function asText(document: unknown, extension: string): Promise<string> {
  if (typeof document === 'string') return document
  if (extension === '.json') return `${JSON.stringify(document, null, 2)}\n`
  const { stringify } = await import('yaml')
  return stringify(document)
}
