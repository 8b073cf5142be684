import { existsSync } from 'node:fs'
import type { PolicyArchive, PolicySource, PolicyVersion } from 'sluice'
import { archiveOf } from '../../config/policy-archive.ts'
import { openPolicy, parsePolicyPlace } from '../../config/policy-place.ts'
import { wrongUse } from '../cli-error.ts'

/** A source that is open to be written to. */
export interface OpenArchive extends PolicyArchive {
  readonly description: string
  /** What is in force there; undefined when there is nothing yet. */
  current(): Promise<unknown>
  close(): Promise<void>
}

/** Opens the archive of the source that `--policy` names. */
export async function openArchive(place: string): Promise<OpenArchive> {
  const policy = await openPolicy(parsePolicyPlace(place, undefined, '--policy'))
  const archive = archiveOf(policy.source)
  if (archive === undefined) {
    await policy.close()
    throw wrongUse(`${policy.source.description} cannot be written to`)
  }
  return {
    description: policy.source.description,
    push: (document) => archive.push(document),
    history: (limit): Promise<readonly PolicyVersion[]> => archive.history(limit),
    current: () => readOnce(policy.source).catch(() => undefined),
    async close() {
      await policy.source.close()
      await policy.close()
    },
  }
}

/** The document of a source, read once. */
export async function readOnce(source: PolicySource): Promise<unknown> {
  return (await source.start({ changed() {}, failed() {}, recovered() {} })).document
}

/** The document of whatever a person may name: a file, `-` for standard input, or a database. */
export async function readPlace(place: string): Promise<{ document: unknown; description: string }> {
  if (place === '-') {
    const chunks: Buffer[] = []
    for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
    return { document: Buffer.concat(chunks).toString('utf8'), description: 'standard input' }
  }
  const parsed = parsePolicyPlace(place, undefined, 'SOURCE')
  if (parsed.kind === 'file' && !existsSync(parsed.path))
    throw wrongUse(`there is no file ${JSON.stringify(parsed.path)}`)
  const policy = await openPolicy(parsed)
  try {
    return { document: await readOnce(policy.source), description: policy.source.description }
  } finally {
    await policy.source.close()
    await policy.close()
  }
}
