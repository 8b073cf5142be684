import { existsSync } from 'node:fs'
import { systemClock, withinTime } from 'sluice/internal'
import type { PolicyArchive, PolicySource, PolicyVersion } from 'sluice/policy'
import { archiveOf } from '../../config/policy/policy-archive.ts'
import { openSource, parsePolicyPlace } from '../../config/policy/policy-place.ts'
import { outOfReach, wrongUse } from '../cli-error.ts'

/** A source that is open to be written to. */
export interface OpenArchive extends PolicyArchive {
  readonly description: string
  /** What is in force there; undefined when there is nothing yet. */
  current(): Promise<unknown>
  close(): Promise<void>
}

/** How long a source may take; some clients would wait for their server without end. */
const patienceMs = 5000

/** Opens the archive of the source that `--policy` names. */
export async function openArchive(place: string): Promise<OpenArchive> {
  const policy = await openSource(parsePolicyPlace(place, undefined, '--policy'))
  const archive = archiveOf(policy.source)
  if (archive === undefined) {
    await policy.close()
    throw wrongUse(`${policy.source.description} cannot be written to`)
  }
  const { description } = policy.source
  const inTime = <Answer>(work: Promise<Answer>): Promise<Answer> => answered(work, description)
  return {
    description,
    push: (document) => inTime(archive.push(document)),
    history: (limit): Promise<readonly PolicyVersion[]> => inTime(archive.history(limit)),
    current: () =>
      readOnce(policy.source).catch((error: Error) => {
        if ((error.cause as Error | undefined)?.name !== 'NoDocument') throw error
      }),
    async close() {
      await policy.source.close()
      await policy.close()
    },
  }
}

/** The document of a source, read once. */
export async function readOnce(source: PolicySource): Promise<unknown> {
  return (await source.start({ changed: () => true, failed() {}, recovered() {} })).document
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
  const policy = await openSource(parsed)
  try {
    return { document: await readOnce(policy.source), description: policy.source.description }
  } finally {
    await policy.source.close()
    await policy.close()
  }
}

function answered<Answer>(work: Promise<Answer>, description: string): Promise<Answer> {
  const late = (): Error => outOfReach(`${description}: no answer within ${patienceMs} ms`)
  return withinTime(work, { ms: patienceMs, clock: systemClock(), late })
}
