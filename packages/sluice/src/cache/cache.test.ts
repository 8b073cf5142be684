import { expect, expectTypeOf, test, vi } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import { createCache, defineKeys, everything, key, tag } from './index.ts'

const keys = defineKeys({
  price: key('price', ['assetId'], { ttl: '60s', jitter: 0 }),
  swr: key('swr', ['id'], { ttl: '10s', jitter: 0, staleWhileRevalidate: '20s', staleIfError: '60s' }),
  candle: key('candle', ['id'], {
    ttl: (candle: { closed: boolean }) => (candle.closed ? 'forever' : '1h'),
    jitter: 0,
  }),
  maybe: key('maybe', ['id'], { ttl: '60s', negativeTtl: '5s', jitter: 0 }),
  tagged: key('tagged', ['a', 'b'], { ttl: '60s', tags: (value: { owner: string }) => [value.owner] }),
})

const setUp = async (options: Parameters<typeof createCache>[0] = {}) => {
  const clock = virtualClock()
  const cache = await createCache({ clock, ...options })
  return { clock, cache }
}

const gateOf = <T>() => {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

test('fetches once, then answers from memory until the TTL ends', async () => {
  const { cache, clock } = await setUp()
  const fetch = vi.fn(async () => ({ usd: 1 }))
  const first = await cache.getOrFetch(keys.price('XLM'), fetch)
  expectTypeOf(first).toEqualTypeOf<{ usd: number }>()
  await clock.advance('59s')
  expect(await cache.lookup(keys.price('XLM'), fetch)).toEqual({
    value: { usd: 1 },
    stale: false,
    ageMs: 59_000,
    freshMs: 1000,
    from: 'memory',
  })
  expect(fetch).toHaveBeenCalledTimes(1)
  await clock.advance('1s')
  expect((await cache.lookup(keys.price('XLM'), fetch)).from).toBe('fetch')
  expect(cache.stats()).toMatchObject({ hits: { memory: 1 }, misses: 2, fetches: 2, redis: 'none' })
})

test('ten thousand callers of a cold key share one fetch, and its rejection', async () => {
  const { cache } = await setUp()
  const gate = gateOf<number>()
  const fetch = vi.fn(() => gate.promise)
  const callers = Array.from({ length: 10_000 }, () => cache.getOrFetch(keys.price('XLM'), fetch))
  gate.resolve(7)
  expect(new Set(await Promise.all(callers))).toEqual(new Set([7]))
  expect(fetch).toHaveBeenCalledTimes(1)
  const failing = vi.fn(async () => Promise.reject(new Error('database')))
  const failed = await Promise.allSettled(Array.from({ length: 100 }, () => cache.getOrFetch(keys.price('B'), failing)))
  expect(failed.every((each) => each.status === 'rejected' && each.reason.message === 'database')).toBe(true)
  expect(failing).toHaveBeenCalledTimes(1)
})

test('a caller that aborts leaves the others and the fetch alone', async () => {
  const { cache } = await setUp()
  const gate = gateOf<number>()
  let signal: AbortSignal | undefined
  const fetch = (context: { signal: AbortSignal }) => {
    signal = context.signal
    return gate.promise
  }
  const controller = new AbortController()
  const leaving = cache.getOrFetch(keys.price('XLM'), fetch, { signal: controller.signal })
  const staying = cache.getOrFetch(keys.price('XLM'), fetch)
  controller.abort(new Error('gone'))
  await expect(leaving).rejects.toThrow('gone')
  expect(signal!.aborted).toBe(false)
  gate.resolve(1)
  expect(await staying).toBe(1)
})

test('a fetch that hangs ends at its deadline, and the key is free again', async () => {
  const { cache, clock } = await setUp({ fetchDeadline: '5s' })
  let signal: AbortSignal | undefined
  const hanging = cache.getOrFetch(keys.price('XLM'), ({ signal: given }) => {
    signal = given
    return new Promise<number>(() => undefined)
  })
  hanging.catch(() => undefined)
  await clock.advance('5s')
  await expect(hanging).rejects.toMatchObject({ code: 'SLUICE_TIMEOUT', transient: true })
  expect(signal!.aborted).toBe(true)
  expect(await cache.getOrFetch(keys.price('XLM'), () => 5)).toBe(5)
})

test('a fetch in flight during an invalidation is not kept: its callers get the new value', async () => {
  const { cache } = await setUp()
  const gates = [gateOf<number>(), gateOf<number>()]
  const contexts: boolean[] = []
  const fetch = ({ afterInvalidation }: { afterInvalidation: boolean }) => {
    contexts.push(afterInvalidation)
    return gates[contexts.length - 1]!.promise
  }
  const before = cache.lookup(keys.price('XLM'), fetch)
  await Promise.resolve()
  await cache.invalidate(keys.price('XLM'), { mode: 'strict' })
  const after = cache.lookup(keys.price('XLM'), fetch)
  gates[0]!.resolve(1)
  gates[1]!.resolve(2)
  expect(await before).toMatchObject({ value: 2, stale: false })
  expect(await after).toMatchObject({ value: 2, stale: false })
  expect(contexts).toEqual([false, true])
})

test('invalidates by key, prefix, tag and as a whole, and nothing beyond', async () => {
  const { cache } = await setUp()
  const fill = async () => {
    for (const [a, b] of [
      ['x', '1'],
      ['x', '2'],
      ['y', '1'],
    ] as const)
      await cache.getOrFetch(keys.tagged(a, b), () => ({ owner: `${a}${b}` }))
  }
  const held = async () =>
    (await cache.getMany([keys.tagged('x', '1'), keys.tagged('x', '2'), keys.tagged('y', '1')])).map(
      (answer) => answer !== undefined,
    )
  await fill()
  await cache.invalidate(keys.tagged('x', '1'))
  expect(await held()).toEqual([false, true, true])
  await fill()
  await cache.invalidate(keys.tagged.prefix('x'))
  expect(await held()).toEqual([false, false, true])
  await fill()
  await cache.invalidate([tag('x2'), tag('y1')])
  expect(await held()).toEqual([true, false, false])
  await fill()
  await cache.invalidate(everything)
  expect(await held()).toEqual([false, false, false])
})

test('past its TTL a value is answered as stale while one fetch renews it, and as an error only after both windows', async () => {
  const { cache, clock } = await setUp()
  await cache.getOrFetch(keys.swr('a'), () => 1)
  await clock.advance('15s')
  const fetch = vi.fn(async () => 2)
  const answers = await Promise.all([1, 2, 3].map(() => cache.lookup(keys.swr('a'), fetch)))
  expect(answers.every(({ value, stale }) => value === 1 && stale)).toBe(true)
  await clock.advance(0)
  expect(fetch).toHaveBeenCalledTimes(1)
  expect(await cache.lookup(keys.swr('a'), fetch)).toMatchObject({ value: 2, stale: false })
  await clock.advance('60s')
  const failing = async () => Promise.reject(new Error('database'))
  expect(await cache.lookup(keys.swr('a'), failing)).toMatchObject({ value: 2, stale: true })
  await clock.advance('11s')
  await expect(cache.lookup(keys.swr('a'), failing)).rejects.toThrow('database')
})

test('a hard invalidation also ends what may be answered on errors', async () => {
  const { cache, clock } = await setUp()
  await cache.getOrFetch(keys.swr('a'), () => 1)
  await clock.advance('15s')
  await cache.invalidate(keys.swr('a'))
  await expect(cache.lookup(keys.swr('a'), async () => Promise.reject(new Error('database')))).rejects.toThrow(
    'database',
  )
})

test('the TTL may follow from the value; null and undefined have a separate one', async () => {
  const { cache, clock } = await setUp()
  await cache.getOrFetch(keys.candle('open'), () => ({ closed: false }))
  await cache.getOrFetch(keys.candle('closed'), () => ({ closed: true }))
  expect((await cache.get(keys.candle('closed')))!.freshMs).toBe(Infinity)
  for (const nothing of [null, undefined]) {
    await cache.invalidate(keys.maybe('x'))
    const fetch = vi.fn(async () => nothing)
    expect(await cache.getOrFetch(keys.maybe('x'), fetch)).toBe(nothing)
    expect(await cache.getOrFetch(keys.maybe('x'), fetch)).toBe(nothing)
    await clock.advance('5s')
    await cache.getOrFetch(keys.maybe('x'), fetch)
    expect(fetch).toHaveBeenCalledTimes(2)
  }
  await clock.advance('1h')
  expect(await cache.get(keys.candle('open'))).toBeUndefined()
  await clock.advance('10000d')
  expect(await cache.get(keys.candle('closed'))).toMatchObject({ stale: false })
})

test('concurrent fetches are bounded per name; a caller that waits too long gets the stale value, else an error', async () => {
  const { cache, clock } = await setUp({ maxFetches: 2, queueDeadline: '1s' })
  await cache.getOrFetch(keys.swr('known'), () => 'old')
  await clock.advance('40s')
  let running = 0
  let most = 0
  const slow = () => {
    running += 1
    most = Math.max(most, running)
    return new Promise<string>(() => undefined)
  }
  for (const id of ['a', 'b', 'c']) cache.getOrFetch(keys.swr(id), slow).catch(() => undefined)
  const known = cache.lookup(keys.swr('known'), slow)
  const unknown = cache.lookup(keys.swr('unknown'), slow)
  unknown.catch(() => undefined)
  await clock.advance('1s')
  expect(await known).toMatchObject({ value: 'old', stale: true })
  await expect(unknown).rejects.toMatchObject({ code: 'SLUICE_REFUSED', transient: true })
  expect(most).toBe(2)
  expect(cache.stats().refusedFetches).toBe(3)
})

test('all readers get equal, frozen values; what cannot be cached is returned uncached', async () => {
  const { cache } = await setUp()
  const value = { at: new Date(5), list: [1], map: new Map([['a', 1n]]) }
  const first = await cache.getOrFetch(keys.price('a'), () => value)
  const second = await cache.getOrFetch(keys.price('a'), () => value)
  expect(first).toStrictEqual(value)
  expect(second).toBe(first)
  expect(() => first.list.push(2)).toThrow(TypeError)
  value.list.push(3)
  expect((await cache.getOrFetch(keys.price('a'), () => value)).list).toEqual([1])
  const odd = { method: () => 1 }
  expect(await cache.getOrFetch(keys.price('b'), () => odd)).toBe(odd)
  expect(await cache.get(keys.price('b'))).toBeUndefined()
  expect(cache.stats().skipped.unencodable).toBe(1)
})

test('refreshes early, more likely near the end, and never in the first half', async () => {
  const early = key('early', ['id'], { ttl: '100s', jitter: 0, earlyRefresh: true })
  let chance = 0.999_999
  const { cache, clock } = await setUp({ random: () => chance })
  const slow = async () => {
    clock.tick('2s')
    return 1
  }
  await cache.getOrFetch(early('a'), slow)
  const fetch = vi.fn(async () => 2)
  await clock.advance('40s')
  await cache.getOrFetch(early('a'), fetch)
  expect(fetch).not.toHaveBeenCalled()
  await clock.advance('40s')
  chance = 0.1
  await cache.getOrFetch(early('a'), fetch)
  expect(fetch).not.toHaveBeenCalled()
  chance = 0.999_999
  expect(await cache.getOrFetch(early('a'), fetch)).toBe(1)
  await clock.advance(0)
  expect(await cache.getOrFetch(early('a'), fetch)).toBe(2)
  expect(fetch).toHaveBeenCalledTimes(1)
})

test('warms the most used keys with the configured fetchers', async () => {
  const fetcher = vi.fn(async ([id]: readonly unknown[]) => `warm ${id}`)
  const { cache, clock } = await setUp({ fetchers: { price: fetcher } })
  for (const id of ['a', 'b', 'c']) await cache.getOrFetch(keys.price(id), () => 'cold')
  for (let i = 0; i < 5; i++) await cache.getOrFetch(keys.price('c'), () => 'cold')
  await clock.advance('61s')
  const progress: number[] = []
  cache.on('warmProgressed', ({ done }) => progress.push(done))
  expect(await cache.warm({ top: 2, concurrency: 1 })).toEqual({ warmed: 2, failed: 0, left: 0 })
  expect(progress).toEqual([1, 2])
  expect((await cache.get(keys.price('c')))!.value).toBe('warm c')
})

test('closing aborts the fetches in flight', async () => {
  const { cache } = await setUp()
  let signal: AbortSignal | undefined
  const fetching = cache.getOrFetch(keys.price('XLM'), async (context) => {
    signal = context.signal
    await new Promise((_, reject) => context.signal.addEventListener('abort', () => reject(context.signal.reason)))
  })
  await Promise.resolve()
  await cache.close()
  expect(signal!.aborted).toBe(true)
  await expect(fetching).rejects.toMatchObject({ code: 'SLUICE_CLOSED' })
})

test('closing within a time lets fetches end, and then aborts those that are left', async () => {
  const { cache, clock } = await setUp()
  const fetches = new Map<string, (value: string) => void>()
  const fetch = (name: string) => () => new Promise<string>((resolve) => fetches.set(name, resolve))
  const [quick, slow] = [
    cache.getOrFetch(keys.price('quick'), fetch('quick')),
    cache.getOrFetch(keys.price('slow'), fetch('slow')),
  ]
  const closing = cache.close({ within: '5s' })
  const late = expect(slow).rejects.toMatchObject({ code: 'SLUICE_CLOSED' })
  fetches.get('quick')!('value')
  expect(await quick).toBe('value')
  await clock.advance('5s')
  await late
  await closing
})

test('a cache without Redis is ready until it is closed', async () => {
  const { cache } = await setUp()
  expect(await cache.health()).toEqual({ ready: true, reasons: [], warnings: [] })
  expect(() => cache.on('misses' as never, () => {})).toThrow('did you mean "missed"')
  await cache.close()
  expect(await cache.health()).toEqual({ ready: false, reasons: ['The cache is closed.'], warnings: [] })
  await expect(cache.warm()).rejects.toThrow('The cache is closed; make a new one with createCache.')
})

test('wrong use is refused early', async () => {
  const { cache } = await setUp()
  for (const wrong of [42 as never, ''])
    await expect(cache.getOrFetch(wrong, () => 1)).rejects.toThrow('or a key made by defineKeys')
  await expect(cache.lookup({} as never, () => 1)).rejects.toThrow('or a key made by defineKeys')
  const signal = {} as AbortSignal
  await expect(cache.getOrFetch(keys.price('x'), () => 1, { signal })).rejects.toThrow('pass an AbortSignal')
  for (const tags of ['assets', [1], [null]])
    await expect(cache.getOrFetch(keys.price('x'), () => 1, { tags: () => tags as never })).rejects.toThrow(
      'use an array of names',
    )
  await expect(cache.invalidate(42 as never)).rejects.toThrow('use a key')
  await expect(createCache({ tll: 5 } as never)).rejects.toThrow('did you mean "ttl"?')
  await expect(cache.getOrFetch(key('bare', [])(), () => 1)).rejects.toThrow('say how long a value is fresh')
  await cache.close()
  await expect(cache.getOrFetch(keys.price('x'), () => 1)).rejects.toThrow('closed')
  await expect(cache.lookup(keys.price('x'), () => 1)).rejects.toThrow('closed')
})
