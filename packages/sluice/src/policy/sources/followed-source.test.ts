import { beforeEach, describe, expect, it, vi } from 'vitest'
import { virtualClock } from '../../testing/virtual-clock.ts'
import type { SourcedDocument } from '../live/source.ts'
import { type Feed, followedSource, noDocument, type Push, type Reading } from './followed-source.ts'

const reading = (text: string, stamp?: string): Reading => ({
  document: text,
  text,
  revision: undefined,
  ...(stamp === undefined ? {} : { stamp }),
})

let clock = virtualClock()
beforeEach(() => {
  clock = virtualClock()
})
const pass = (ms: number) => clock.advance(ms)

/** A feed whose next answers the test sets, and what the listener of its source saw. */
function follow(feed: Partial<Feed> & Pick<Feed, 'read'>) {
  const seen: string[] = []
  const source = followedSource({ description: 'test', pollMs: 1000, timeoutMs: 100, random: () => 1, clock, ...feed })
  const started = source.start({
    changed: ({ document }: SourcedDocument) => {
      seen.push(`changed ${document}`)
      return !String(document).startsWith('older')
    },
    emptied: () => void seen.push('emptied'),
    failed: (error) => void seen.push(`failed ${error.message.replace(/^.*: /, '')}`),
    recovered: () => void seen.push('recovered'),
  })
  started.catch(() => {})
  return { seen, source, started }
}

describe('followedSource', () => {
  it('polls, earlier than asked by up to a fifth', async () => {
    let looks = 0
    const read = async () => reading(`v${looks++}`)
    const late = follow({ read })
    await pass(1000)
    expect(looks).toBe(2)
    await late.source.close()
    looks = 0
    const early = follow({ read, random: () => 0 })
    await pass(800)
    expect(looks).toBe(2)
    await early.source.close()
  })

  it('passes on what it knows, so that a look can be cheap', async () => {
    const read = vi.fn(async (stamp: string | undefined) => (stamp === '1' ? 'unchanged' : reading('v', '1')))
    const { source, seen } = follow({ read })
    await pass(2000)
    expect(read.mock.calls).toEqual([[undefined], ['1'], ['1']])
    expect(seen).toEqual([])
    await source.close()
  })

  it('tells an outage once, and again only when the reason changes', async () => {
    let answer: () => Promise<Reading> = async () => reading('v0')
    const { source, seen, started } = follow({ read: () => answer() })
    await started
    answer = () => Promise.reject(new Error('refused'))
    await pass(10_000)
    expect(seen).toEqual(['failed refused'])
    answer = () => Promise.reject(new Error('no password'))
    await pass(10_000)
    expect(seen).toEqual(['failed refused', 'failed no password'])
    answer = async () => reading('v0')
    await pass(10_000)
    expect(seen.slice(2)).toEqual(['recovered'])
    answer = async () => reading('v1')
    await pass(1000)
    expect(seen.slice(3)).toEqual(['changed v1'])
    await source.close()
  })

  it('goes on after it could not start', async () => {
    let answer: () => Promise<Reading> = () => Promise.reject(new Error('refused'))
    const { source, seen, started } = follow({ read: () => answer() })
    await expect(started).rejects.toMatchObject({ code: 'SLUICE_SOURCE_FAILED', transient: true })
    answer = async () => reading('v0')
    await pass(250)
    expect(seen).toEqual(['recovered', 'changed v0'])
    await source.close()
  })

  it('waits longer with every failure, and no longer than ten seconds', async () => {
    const atMs: number[] = []
    const read = async (): Promise<Reading> => {
      atMs.push(clock.monotonic())
      throw new Error('refused')
    }
    const { source } = follow({ read })
    await pass(60_000)
    const waitsMs = atMs.slice(1).map((ms, i) => ms - (atMs[i] ?? 0))
    expect(waitsMs.slice(0, 8)).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000])
    await source.close()
  })

  it('has one look under way at a time, however many changes are pushed and however long it hangs', async () => {
    const waiting: ((reading: Reading) => void)[] = []
    let push: Push | undefined
    const { source, seen, started } = follow({
      read: () => new Promise((resolve) => waiting.push(resolve)),
      subscribe: (to) => {
        push = to
        return () => {}
      },
    })
    await pass(0)
    waiting[0]?.(reading('v0'))
    await started
    for (let i = 0; i < 100; i++) push?.changed()
    await pass(30_000)
    expect(waiting).toHaveLength(2)
    expect(seen).toEqual(['failed no answer within 100 ms'])
    // The late answer may be old. But the place is back, so another look follows at once.
    waiting[1]?.(reading('v1'))
    await pass(0)
    waiting[2]?.(reading('v2'))
    await pass(0)
    expect(seen.slice(1)).toEqual(['recovered', 'changed v2'])
    await source.close()
  })

  it('takes up pushing again when it breaks, with backoff, and leaves it when there is none', async () => {
    const subscribed: number[] = []
    const ended = vi.fn()
    let push: Push | undefined
    const { source } = follow({
      read: async () => reading('v0'),
      subscribe: (to) => {
        push = to
        subscribed.push(clock.monotonic())
        return ended
      },
    })
    await pass(0)
    push?.broken()
    push?.broken()
    await pass(250)
    expect(subscribed).toHaveLength(2)
    push?.broken()
    await pass(499)
    expect(subscribed).toHaveLength(2)
    await pass(1)
    expect(subscribed).toHaveLength(3)
    expect(ended).toHaveBeenCalledTimes(2)
    push?.unavailable()
    push?.broken()
    await pass(60_000)
    expect(subscribed).toHaveLength(3)
    expect(ended).toHaveBeenCalledTimes(3)
    await source.close()
  })

  it('has no timer left after close, and ends a start that waits', async () => {
    const { source, started } = follow({ read: () => new Promise(() => {}), subscribe: () => () => {} })
    await source.close()
    await expect(started).rejects.toThrow(/it was closed/)
    expect(clock.pending).toBe(0)
    await expect(source.start({ changed: () => true, failed() {}, recovered() {} })).rejects.toThrow(/in use/)
  })

  it('names the option that is wrong', () => {
    const read = async () => reading('v0')
    for (const pollMs of [0, Number.NaN, 2 ** 31]) expect(() => follow({ read, pollMs })).toThrow(/poll is/)
    expect(() => follow({ read, timeoutMs: -1 })).toThrow(/timeout is -1/)
  })
})

describe('a document that the listener did not take', () => {
  it('is delivered again at each reading until it is taken', async () => {
    let text = 'one'
    const { seen } = follow({ read: async () => reading(text) })
    await pass(1)
    text = 'older'
    await pass(2000)
    expect(seen).toEqual(['changed older', 'changed older'])
    text = 'two'
    await pass(2000)
    expect(seen.slice(2)).toEqual(['changed two'])
  })

  it('is forgotten when the place was found empty, so that the same document counts as new', async () => {
    let text: string | undefined = 'one'
    const { seen } = follow({
      read: async () => {
        if (text === undefined) throw noDocument()
        return reading(text)
      },
    })
    await pass(1)
    text = undefined
    await pass(1000)
    text = 'one'
    await pass(5000)
    expect(seen).toEqual(['emptied', 'failed there is no document', 'recovered', 'changed one'])
  })
})
