import { checkOptionNames } from '../../../core/check-options.ts'
import { type Duration, parseDuration } from '../../../core/duration.ts'
import { invalidOption } from '../../../core/errors.ts'
import { builtIn } from '../../built-in.ts'
import type { ArchivedSource } from '../archive.ts'
import { type Feed, followedSource, type Reading } from '../followed-source.ts'
import { fileArchive } from './file-archive.ts'
import { FolderWatch, watchedNames } from './folder-watch.ts'

export interface FilePolicyOptions {
  /** How often to look at the file besides watching it, for file systems that cannot be watched. 1 s by default. */
  readonly poll?: Duration
}

/** Editors truncate a file and then write it: this is for them to finish, and far below a second. */
const settleMs = 25

/** Two writes may share a time stamp; a file as young as this is read again rather than trusted. */
const youngMs = 2000

/**
 * A policy in a YAML or JSON file. Changes are in force within a second, also when an editor replaces the file or
 * Kubernetes swaps the links to it.
 *
 * @example
 * const limiter = await createLimiter({ policy: filePolicy('sluice.yaml') })
 */
export function filePolicy(path: string, options: FilePolicyOptions = {}): ArchivedSource {
  checkOptionNames('filePolicy', options, ['poll'])
  if (typeof path !== 'string' || path === '') throw invalidOption('path', path, 'give the path of a YAML or JSON file')
  // Resolved once: the process may change its folder later.
  const file = builtIn('path').resolve(path)
  let folders: FolderWatch | undefined
  const feed: Feed = {
    description: `file ${path}`,
    pollMs: parseDuration(options.poll ?? '1s', 'filePolicy.poll'),
    settleMs,
    async read(stamp) {
      await folders?.follow(await watchedNames(file))
      return readDocument(file, stamp)
    },
    subscribe(push) {
      const watch = new FolderWatch(() => push.changed())
      folders = watch
      queueMicrotask(() => push.changed())
      return () => watch.close()
    },
  }
  return Object.assign(followedSource(feed), { archive: fileArchive(file) })
}

async function readDocument(file: string, stamp: string | undefined): Promise<Reading | 'unchanged'> {
  const { readFile, stat } = builtIn('fs/promises')
  const found = await stat(file, { bigint: true })
  // Reading a pipe or a device would never end.
  if (!found.isFile()) throw new Error('it is no regular file')
  const { dev, ino, size, mtimeNs, ctimeNs } = found
  const seen = [dev, ino, size, mtimeNs, ctimeNs].join()
  if (seen === stamp) return 'unchanged'
  const text = await readFile(file, 'utf8')
  const isYoung = Math.abs(Date.now() - Number(found.mtimeMs)) < youngMs
  return { document: text, revision: undefined, text, ...(isYoung ? {} : { stamp: seen }) }
}
