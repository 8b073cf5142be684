import { createReadStream, existsSync, fstatSync, statSync } from 'node:fs'
import { text as textOf } from 'node:stream/consumers'
import { systemClock, withinTime } from 'sluice/internal'
import type { PolicyArchive, PolicySource, PolicyVersion } from 'sluice/policy'
import { archiveOf, openSource } from '../../../policy/place/open-source.ts'
import { parsePolicyPlace } from '../../../policy/place/policy-place.ts'
import { outOfReach, wrongUse } from '../../cli-error.ts'
import type { Input } from '../../command.ts'

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

/** The source that was named; else what is piped in, where there is no `sluice.yaml`. */
export function placeOf(input: Input): string {
  const named = input.args[0] ?? input.text('policy')
  if (named !== undefined || existsSync('sluice.yaml')) return named ?? 'sluice.yaml'
  const piped = fstatSync(0)
  return piped.isFIFO() || piped.isSocket() ? '-' : 'sluice.yaml'
}

/** The names of standard input. Where it is a socket, the system cannot open it by name. */
const isInput: ReadonlySet<string> = new Set(['-', '/dev/stdin', '/dev/fd/0'])

/** The document of whatever a person may name: a file, `-` for standard input, or a database. */
export async function readPlace(place: string): Promise<{ document: unknown; description: string }> {
  if (isInput.has(place)) return { document: await textOf(process.stdin), description: 'standard input' }
  const parsed = parsePolicyPlace(place, undefined, 'SOURCE')
  if (parsed.kind === 'file') {
    if (!existsSync(parsed.path)) throw wrongUse(`there is no file ${JSON.stringify(parsed.path)}`)
    // A pipe, such as that of `<(command)`: it can be read once and not be followed.
    if (!statSync(parsed.path).isFile())
      return { document: await textOf(createReadStream(parsed.path)), description: 'a pipe' }
  }
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
