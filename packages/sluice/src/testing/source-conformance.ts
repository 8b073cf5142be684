import assert from 'node:assert/strict'
import { checkOptionNames } from '../core/check-options.ts'
import type { PolicySource, SourcedDocument } from '../policy/live/source.ts'
import type { TestFramework } from './test-framework.ts'
import { waitFor } from './wait-for.ts'

/** A place where a policy lives, for the suite to write to while sources read it. */
export interface SourcePlace {
  /**
   * A source over a place of this name; different names never affect each other. Polls too seldom to matter when it can
   * push.
   */
  open(name: string): PolicySource
  /** Writes a document, as an operator does who changes a policy. */
  write(name: string, document: object): Promise<void>
  /** Writes something that is no policy, as it would happen here: a truncated file, a row of the wrong shape. */
  writeNonsense(name: string): Promise<void>
  remove(name: string): Promise<void>
  /** Makes the place unreachable, and reachable again; left out where there is nothing to stop. */
  readonly outage?: { begin(): Promise<void>; end(): Promise<void> }
  close(): Promise<void>
}

export interface SourceConformanceOptions {
  /** What the source is, for the report. */
  readonly name: string
  /** Starts a place with nothing in it, and whatever it needs. */
  start(): Promise<SourcePlace>
}

/** What a listener of the suite has seen. */
interface Followed {
  readonly source: PolicySource
  readonly first: SourcedDocument | undefined
  readonly startError: Error | undefined
  readonly changes: SourcedDocument[]
  readonly failures: Error[]
  recoveries: number
}

/** Reads what the suite wrote: `{ service, version, rules }`, as a document or as text. */
function versionOf(sourced: SourcedDocument | undefined): string | undefined {
  const { document } = sourced ?? {}
  if (typeof document === 'string') return /version["']?:\s*["']?([\w-]+)/.exec(document)?.[1]
  return (document as { version?: string } | undefined)?.version
}

const policy = (name: string, version: string): object => ({
  service: name,
  version,
  rules: [{ name: 'per-ip', key: ['ip'], limits: { rpm: 100 } }],
})

/**
 * What every source of policies must do, for your own ones too.
 *
 * @example
 * import { afterAll, beforeAll, describe, it } from 'vitest'
 * sourceConformance({ afterAll, beforeAll, describe, it }, { name: 'etcdPolicy', start: async () => etcdPlace() })
 */
export function sourceConformance(framework: TestFramework, options: SourceConformanceOptions): void {
  checkOptionNames('sourceConformance', options, ['name', 'start'])
  const { name: subject, start } = options
  const { describe, it, beforeAll, afterAll } = framework
  describe(`${subject} as a source of policies`, () => {
    let place: SourcePlace
    const opened: PolicySource[] = []
    let names = 0
    const newName = (): string => `conformance-${++names}`

    async function follow(name: string): Promise<Followed> {
      const source = place.open(name)
      opened.push(source)
      const seen = { source, changes: [] as SourcedDocument[], failures: [] as Error[], recoveries: 0 }
      let first: SourcedDocument | undefined
      let startError: Error | undefined
      const listener = {
        changed: (document: SourcedDocument) => {
          seen.changes.push(document)
          return true
        },
        failed: (error: Error) => void seen.failures.push(error),
        recovered: () => void seen.recoveries++,
      }
      await source.start(listener).then(
        (document) => {
          first = document
        },
        (error) => {
          startError = error
        },
      )
      return Object.assign(seen, { first, startError })
    }

    async function followNew(version = 'v0'): Promise<Followed & { name: string }> {
      const name = newName()
      await place.write(name, policy(name, version))
      return Object.assign(await follow(name), { name })
    }

    const sees = (followed: Followed, version: string): Promise<unknown> =>
      waitFor(() => versionOf(followed.changes.at(-1)) === version, {
        describe: `version ${version}`,
        timeoutMs: 60_000,
      })

    beforeAll(async () => {
      place = await start()
    })

    afterAll(async () => {
      await Promise.all(opened.map((source) => source.close()))
      await place?.close()
    })

    it('starts with the document as it is', async () => {
      const followed = await followNew()
      assert.equal(versionOf(followed.first), 'v0')
      assert.ok(followed.source.description.length > 0)
    })

    it('delivers a change', async () => {
      const followed = await followNew()
      await place.write(followed.name, policy(followed.name, 'v1'))
      await sees(followed, 'v1')
    })

    it('delivers a change to every follower', async () => {
      const one = await followNew()
      const two = await follow(one.name)
      await place.write(one.name, policy(one.name, 'v1'))
      await Promise.all([sees(one, 'v1'), sees(two, 'v1')])
    })

    it('keeps services apart', async () => {
      const one = await followNew()
      const other = await followNew()
      await place.write(other.name, policy(other.name, 'v1'))
      await sees(other, 'v1')
      assert.equal(one.changes.length, 0)
    })

    it('ends a hundred quick changes with the newest, and its revisions never fall', async () => {
      const followed = await followNew()
      for (let i = 1; i <= 100; i++) await place.write(followed.name, policy(followed.name, `v${i}`))
      await sees(followed, 'v100')
      const revisions = [followed.first, ...followed.changes].flatMap((each) => each?.revision ?? [])
      assert.deepEqual(
        revisions,
        [...revisions].sort((a, b) => a - b),
      )
    })

    it('does not deliver the same text twice in a row', async () => {
      const followed = await followNew()
      for (const version of ['v0', 'v1', 'v1', 'v2']) await place.write(followed.name, policy(followed.name, version))
      await sees(followed, 'v2')
      const versions = [followed.first, ...followed.changes].map(versionOf)
      assert.ok(
        versions.every((version, i) => i === 0 || version !== versions[i - 1]),
        `delivered ${versions.join(', ')}`,
      )
    })

    it('rejects at start when there is no document, and delivers it when there is', async () => {
      const name = newName()
      const followed = await follow(name)
      assert.equal((followed.startError as { code?: string } | undefined)?.code, 'SLUICE_SOURCE_FAILED')
      await place.write(name, policy(name, 'v1'))
      await sees(followed, 'v1')
    })

    it('delivers good documents after nonsense', async () => {
      const followed = await followNew()
      await place.writeNonsense(followed.name)
      await waitFor(() => followed.changes.length + followed.failures.length > 0, {
        describe: 'nonsense to be noticed',
      })
      await place.write(followed.name, policy(followed.name, 'v1'))
      await sees(followed, 'v1')
    })

    it('says when the document is gone, once, and when it is back', async () => {
      const followed = await followNew()
      await place.remove(followed.name)
      await waitFor(() => followed.failures.length > 0, { describe: 'the loss to be noticed' })
      assert.equal((followed.failures[0] as { code?: string }).code, 'SLUICE_SOURCE_FAILED')
      await place.write(followed.name, policy(followed.name, 'v0'))
      await waitFor(() => followed.recoveries > 0, { describe: 'the document to be back' })
      assert.equal(followed.failures.length, 1)
      await place.write(followed.name, policy(followed.name, 'v1'))
      await sees(followed, 'v1')
    })

    it('tells nothing after close', async () => {
      const followed = await followNew()
      const witness = await follow(followed.name)
      await followed.source.close()
      await place.write(followed.name, policy(followed.name, 'v1'))
      await sees(witness, 'v1')
      assert.deepEqual([followed.changes, followed.failures], [[], []])
    })

    it('leaves nothing behind when it is closed', async () => {
      const handles = (): number => process.getActiveResourcesInfo().filter((kind) => kind !== 'Timeout').length
      const name = newName()
      await place.write(name, policy(name, 'v0'))
      const openAndClose = async (): Promise<void> => {
        const all = await Promise.all([1, 2, 3, 4].map(() => follow(name)))
        await Promise.all(all.map(({ source }) => source.close()))
      }
      // The pool of a client, which is not the source's to empty, fills in the first rounds; what is left behind grows
      // in every one.
      await openAndClose()
      const stays = async (): Promise<boolean> => {
        const before = handles()
        await openAndClose()
        return handles() < before + 4
      }
      await waitFor(stays, { describe: 'a round that leaves nothing behind' })
    })

    it('says once that the place is unreachable, and follows it again afterwards', async (context) => {
      if (place.outage === undefined) return context.skip('there is no server that could be stopped')
      const followed = await followNew()
      await place.outage.begin()
      try {
        await waitFor(() => followed.failures.length > 0, { describe: 'the outage to be noticed' })
        const late = await follow(followed.name)
        assert.equal((late.startError as { code?: string } | undefined)?.code, 'SLUICE_SOURCE_FAILED')
        await place.outage.end()
        await place.write(followed.name, policy(followed.name, 'v1'))
        await Promise.all([sees(followed, 'v1'), sees(late, 'v1')])
        await waitFor(() => followed.recoveries > 0, { describe: 'word of the recovery' })
        // Pushing works again too, not only polling.
        await place.write(followed.name, policy(followed.name, 'v2'))
        await Promise.all([sees(followed, 'v2'), sees(late, 'v2')])
      } finally {
        await place.outage.end()
      }
    })
  })
}
