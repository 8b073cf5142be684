import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../runtime/system-clock.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import type { CompiledPolicy } from '../compiled-policy.ts'
import { type FollowOptions, followPolicy } from './followed-policy.ts'
import type { PolicySource, SourcedDocument, SourceListener } from './source.ts'
import { staticPolicy } from './source.ts'

/** A source that the test pushes by hand. */
function handSource(first: SourcedDocument | Error) {
  let listener: SourceListener | undefined
  const source = {
    description: 'hand',
    closed: false,
    start: async (to: SourceListener) => {
      listener = to
      if (first instanceof Error) throw first
      return first
    },
    close: async () => {
      source.closed = true
    },
    push: (document: unknown, revision?: number) => listener!.changed({ document, revision }),
    empty: () => listener?.emptied?.(),
    fail: (message: string) => listener?.failed(new Error(message)),
    recover: () => listener?.recovered(),
  }
  return source satisfies PolicySource
}

/** Documents are `{ version }` here: what else a policy says does not matter to how it is followed. */
function follow(source: PolicySource, more: Partial<FollowOptions> = {}) {
  const seen = { compiled: [] as string[], loaded: [] as string[], rejected: [] as string[] }
  const live = followPolicy({
    source,
    // Read anew each time, as tests replace the timers of the process.
    clock: { ...systemClock(), monotonic: () => performance.now() },
    compile: (document) => {
      const { version } = document as { version?: string }
      seen.compiled.push(String(version))
      if (version === undefined || version.startsWith('bad')) throw new Error(`refused ${version}`)
      return { version } as CompiledPolicy
    },
    ...more,
  }).then((policy) => {
    policy.on('loaded', ({ version }) => seen.loaded.push(version))
    policy.on('rejected', ({ error }) => seen.rejected.push(error.message))
    return policy
  })
  return { seen, live }
}

/** Until all that was pushed is compiled. */
async function settled(): Promise<void> {
  await vi.advanceTimersByTimeAsync(1)
  await vi.dynamicImportSettled()
}

describe('a policy that follows its source', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('keeps the document in force as it was given and as it was parsed, once', async () => {
    const source = handSource({ document: 'version: one', revision: 1 })
    const compiled: unknown[] = []
    const compile = (document: unknown) => {
      compiled.push(document)
      const { version } = document as { version: string }
      if (version === 'bad') throw new Error('refused')
      return { version } as CompiledPolicy
    }
    const live = await follow(source, { compile }).live
    const first = live.document
    expect(first).toEqual({ given: 'version: one', parsed: { version: 'one' } })
    expect(first?.parsed, 'what was compiled, not parsed again').toBe(compiled[0])
    source.push('version: bad', 2)
    await settled()
    expect(live.document, 'a refused document is not in force').toBe(first)
    source.push({ version: 'two' }, 3)
    await settled()
    expect(live.document).toEqual({ given: { version: 'two' }, parsed: { version: 'two' } })
  })

  it('has no document while the fallback is in force', async () => {
    const source = handSource(new Error('no such file'))
    const live = await follow(source, { fallback: { version: 'spare' } }).live
    expect([live.current.version, live.document]).toEqual(['spare', undefined])
    source.push({ version: 'one' })
    await settled()
    expect(live.document).toEqual({ given: { version: 'one' }, parsed: { version: 'one' } })
  })

  it('loads text as well as a document', async () => {
    const text = await follow(staticPolicy('version: one')).live
    expect(text.current.version).toBe('one')
    const document = await follow(staticPolicy({ version: 'two' })).live
    expect(document.status).toMatchObject({ version: 'two', source: 'static', lastError: undefined })
  })

  it('puts a change in force, and whoever holds the former version keeps it', async () => {
    const source = handSource({ document: { version: '1' }, revision: 1 })
    const live = await follow(source).live
    const held = live.current
    source.push({ version: '2' }, 2)
    await settled()
    expect(live.current.version).toBe('2')
    expect(held.version).toBe('1')
  })

  it('ignores an older version that arrives last', async () => {
    const source = handSource({ document: { version: '5' }, revision: 5 })
    const { live, seen } = follow(source)
    const { status } = await live
    source.push({ version: '7' }, 7)
    source.push({ version: '6' }, 6)
    await settled()
    source.push({ version: '4' }, 4)
    await settled()
    expect((await live).current.version).toBe('7')
    expect(seen.rejected).toEqual([expect.stringMatching(/older than revision 7/)])
    expect(status.version).toBe('5')
  })

  it('reports a document that is older than the one in force, and asks for it again', async () => {
    const source = handSource({ document: { version: '5' }, revision: 5 })
    const { live, seen } = follow(source)
    const policy = await live
    expect(source.push({ version: '4' }, 4)).toBe(false)
    expect(source.push({ version: '4' }, 4)).toBe(false)
    await settled()
    expect(policy.status.version).toBe('5')
    expect(policy.status.lastError?.message).toMatch(/revision 4, which is older than revision 5 in force/)
    expect(seen.rejected).toHaveLength(1)
  })

  it('puts an older document in force that is still there after five seconds: a restored backup', async () => {
    const source = handSource({ document: { version: '5' }, revision: 5 })
    const { live } = follow(source)
    const policy = await live
    source.push({ version: '4' }, 4)
    await vi.advanceTimersByTimeAsync(4999)
    expect(source.push({ version: '4' }, 4)).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(source.push({ version: '4' }, 4)).toBe(true)
    await settled()
    expect(policy.status).toMatchObject({ version: '4', lastError: undefined })
    source.push({ version: '4b' }, 4)
    await settled()
    expect(policy.current.version).toBe('4b')
  })

  it('does not count the time of an older document while a newer one is read in between', async () => {
    const source = handSource({ document: { version: '5' }, revision: 5 })
    const policy = await follow(source).live
    source.push({ version: '4' }, 4)
    await vi.advanceTimersByTimeAsync(4000)
    source.push({ version: '5' }, 5)
    await vi.advanceTimersByTimeAsync(4000)
    expect(source.push({ version: '4' }, 4)).toBe(false)
    expect(policy.current.version).toBe('5')
  })

  it('takes any revision after the place was found empty', async () => {
    const source = handSource({ document: { version: '5' }, revision: 5 })
    const policy = await follow(source).live
    source.empty()
    expect(source.push({ version: '1' }, 1)).toBe(true)
    await settled()
    expect(policy.current.version).toBe('1')
  })

  it('goes on from the document in force after a refused one with a higher revision was taken away', async () => {
    const source = handSource({ document: { version: '5' }, revision: 5 })
    const live = await follow(source).live
    source.push({ version: 'bad' }, 99)
    await settled()
    expect(live.status).toMatchObject({ version: '5', lastError: { message: 'refused bad' } })
    source.push({ version: '7' }, 7)
    await settled()
    expect(live.status).toMatchObject({ version: '7', lastError: undefined })
  })

  it('refuses a document of another service than the one that was asked for', async () => {
    const source = Object.assign(handSource({ document: { version: '1' }, revision: 1 }), { service: 'shop' })
    const compile = (document: unknown) => ({ service: 'shop', ...(document as object) }) as unknown as CompiledPolicy
    const live = await follow(source, { compile }).live
    source.push({ version: '2', service: 'bank' }, 2)
    await settled()
    expect(live.status.version).toBe('1')
    expect(live.status.lastError?.message).toMatch(/service is "bank"; the source was asked for "shop"/)
  })

  it('refuses a document that renames the service, because all counters would begin anew', async () => {
    const source = handSource({ document: { version: '1', service: 'shop' }, revision: undefined })
    const live = await follow(source, { compile: (document) => document as CompiledPolicy }).live
    source.push({ version: '2', service: 'bank' }, undefined)
    await settled()
    expect(live.status.version).toBe('1')
    expect(live.status.lastError?.message).toMatch(/service is "bank"; the policy in force is that of "shop".*restart/)
    source.push({ version: '3', service: 'shop' }, undefined)
    await settled()
    expect(live.status).toMatchObject({ version: '3', lastError: undefined })
  })

  it('takes the first document of a source under any name after a fallback', async () => {
    const source = handSource({ document: { version: 'bad' }, revision: undefined })
    const live = await follow(source, { fallback: { version: 'spare', service: 'shop' } }).live
    source.push({ version: '2', service: 'bank' }, undefined)
    await settled()
    expect(live.status.version).toBe('2')
  })

  it('compiles what was pushed while a compilation was going on', async () => {
    const source = handSource({ document: { version: '0' }, revision: undefined })
    const compile = async (document: unknown) => {
      await new Promise((resolve) => setTimeout(resolve, 50))
      return document as CompiledPolicy
    }
    const starting = follow(source, { compile }).live
    await vi.advanceTimersByTimeAsync(60)
    const live = await starting
    source.push({ version: '1' })
    await vi.advanceTimersByTimeAsync(20)
    source.push({ version: '2' })
    await vi.advanceTimersByTimeAsync(500)
    expect(live.current.version).toBe('2')
  })

  it('takes what was pushed while the first answer was on its way', async () => {
    const source = handSource({ document: { version: '1' }, revision: 1 })
    const start = source.start
    source.start = async (listener) => {
      listener.changed({ document: { version: '2' }, revision: 2 })
      return start(listener)
    }
    const live = await follow(source).live
    expect(live.current.version).toBe('2')
  })

  it('compiles a burst once, with the newest', async () => {
    const source = handSource({ document: { version: '0' }, revision: undefined })
    const { live, seen } = follow(source)
    await live
    for (let i = 1; i <= 100; i++) source.push({ version: `${i}` })
    await settled()
    expect(seen.compiled).toEqual(['0', '100'])
    expect(seen.loaded).toEqual(['100'])
  })

  it('leaves the process as much time as the last compilation took', async () => {
    const source = handSource({ document: { version: '0' }, revision: undefined })
    const compiledAtMs: number[] = []
    const compile = (document: unknown) => {
      compiledAtMs.push(performance.now())
      vi.advanceTimersByTime(200)
      return document as CompiledPolicy
    }
    const live = await follow(source, { compile }).live
    const beganMs = performance.now()
    for (let i = 1; i <= 100; i++) {
      source.push({ version: `${i}` })
      await vi.advanceTimersByTimeAsync(10)
    }
    await vi.advanceTimersByTimeAsync(1000)
    expect(live.current.version).toBe('100')
    const pausesMs = compiledAtMs.slice(1).map((ms, i) => ms - (i === 0 ? beganMs - 200 : (compiledAtMs[i] ?? 0)) - 200)
    expect(Math.min(...pausesMs)).toBeGreaterThanOrEqual(199)
  })

  it('refuses a bad document whole, says so, and forgets the error with the next good one', async () => {
    const source = handSource({ document: { version: '1' }, revision: undefined })
    const { live, seen } = follow(source)
    const { current } = await live
    source.push({ version: 'bad' })
    await settled()
    expect((await live).current).toBe(current)
    expect((await live).status.lastError?.message).toBe('refused bad')
    expect(seen.rejected).toEqual(['refused bad'])
    source.push('a: [unclosed')
    await settled()
    expect(seen.rejected).toHaveLength(2)
    source.push({ version: '2' })
    await settled()
    expect((await live).status).toMatchObject({ version: '2', lastError: undefined })
  })

  it('keeps the last good policy while the source is down, and says when it is back', async () => {
    const source = handSource({ document: { version: '1' }, revision: undefined })
    const { live, seen } = follow(source)
    source.fail('too early to matter')
    await live
    source.fail('down')
    expect((await live).status).toMatchObject({ version: '1', lastError: { message: 'down' } })
    expect(seen.rejected).toEqual(['down'])
    source.recover()
    expect((await live).status.lastError).toBeUndefined()
  })

  it('remembers that the document is bad when the source comes back', async () => {
    const source = handSource({ document: { version: '1' }, revision: undefined })
    const live = await follow(source).live
    source.push({ version: 'bad' })
    await settled()
    source.fail('down')
    source.recover()
    expect(live.status.lastError?.message).toBe('refused bad')
  })

  it('is an error without a good document at start, and closes the source', async () => {
    const down = handSource(new Error('down'))
    await expect(follow(down).live).rejects.toThrow('down')
    expect(down.closed).toBe(true)
    const bad = handSource({ document: { version: 'bad' }, revision: undefined })
    await expect(follow(bad).live).rejects.toThrow('refused bad')
    expect(bad.closed).toBe(true)
  })

  it('begins with the fallback, and follows the source as soon as that has a good one', async () => {
    for (const first of [new Error('down'), { document: { version: 'bad' }, revision: undefined }]) {
      const source = handSource(first)
      const { live, seen } = follow(source, { fallback: { version: 'spare' } })
      expect((await live).status).toMatchObject({ version: 'spare', lastError: expect.any(Error) })
      source.push({ version: '1' })
      await settled()
      expect((await live).status).toMatchObject({ version: '1', lastError: undefined })
      expect(seen.loaded).toEqual(['1'])
    }
  })

  it('refuses a bad fallback at once, even if the source is fine', async () => {
    const { live } = follow(staticPolicy({ version: '1' }), { fallback: { version: 'bad' } })
    await expect(live).rejects.toThrow('refused bad')
  })

  it('tells the age of the version in force', async () => {
    const clock = virtualClock()
    const live = await follow(staticPolicy({ version: '1' }), { clock }).live
    await clock.advance(3500)
    expect(live.status.ageMs).toBe(3500)
  })

  it('hears nothing after close', async () => {
    const source = handSource({ document: { version: '1' }, revision: undefined })
    const { live, seen } = follow(source)
    await live
    source.push({ version: '2' })
    await (await live).close()
    source.push({ version: '3' })
    source.fail('gone')
    await settled()
    expect([seen.loaded, seen.rejected]).toEqual([[], []])
    expect(source.closed).toBe(true)
  })
})
