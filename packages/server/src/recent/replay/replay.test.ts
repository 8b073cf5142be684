import type { RequestView } from 'sluice'
import { compilePolicy, type ReadField } from 'sluice/policy'
import { describe, expect, test } from 'vitest'
import { compareReplays } from './compare.ts'
import { hideInDocument } from './hide-in-document.ts'
import { keptView } from './kept-view.ts'
import { replay } from './replay.ts'
import { RequestRing } from './request-ring.ts'
import { createHide } from './secret-names.ts'

const hide = createHide()
const allowed = { allowed: true }

function ringFor(document: object, options: ConstructorParameters<typeof RequestRing>[2] = {}): RequestRing {
  const policy = compilePolicy(document)
  return new RequestRing(() => policy, hide, options)
}

const byKey = {
  service: 'shop',
  rules: [
    {
      name: 'per-key',
      key: 'headers.x-api-key',
      limits: { rpm: 2 },
      overrides: [{ key: 'sk-big', limits: { rpm: 4 } }],
    },
  ],
}
const withKey = (key: string): RequestView => ({
  method: 'POST',
  path: '/v1/complete',
  headers: { 'x-api-key': key, cookie: 'session=abc', 'x-other': 'not read' },
  body: { prompt: 'private words' },
})

describe('the ring', () => {
  test('keeps only what the rules look at, and no secret as it was', () => {
    const ring = ringFor(byKey)
    ring.add({ request: withKey('sk-live-1'), cost: undefined }, allowed, 0)
    const text = JSON.stringify(ring.all())
    for (const word of ['sk-live-1', 'session', 'not read', 'private words']) expect(text).not.toContain(word)
    expect(text).toContain('/v1/complete')
  })

  test('hides the secret parts of keys that were given as keys', () => {
    const ring = ringFor(byKey, { keySelectors: () => ['headers.x-api-key', 'ip'] })
    ring.add({ key: ['sk-live-1', '192.0.2.1'], rule: 'per-key', tier: undefined, cost: undefined }, allowed, 0)
    expect(JSON.stringify(ring.all())).toMatch(/"key":\["hidden-\w{24}","192\.0\.2\.1"\]/)
  })

  test('holds at most as many requests and bytes as it may, the newest', () => {
    const ring = ringFor(byKey, { maxRequests: 100 })
    for (let i = 0; i < 250; i++) ring.add({ request: withKey(`k${i}`), cost: i }, allowed, i)
    expect(ring.size).toBe(100)
    expect(ring.all().map(({ atMs }) => atMs)).toEqual(Array.from({ length: 100 }, (_, i) => 150 + i))
    const small = ringFor(byKey, { maxBytes: 10_000 })
    const long = { ...withKey('k'), path: `/${'x'.repeat(5000)}` }
    for (let i = 0; i < 250; i++) small.add({ request: long, cost: undefined }, allowed, i)
    expect(small.bytes).toBeLessThanOrEqual(10_000)
    expect(small.size).toBeGreaterThan(1)
    expect(small.all().at(-1)!.atMs).toBe(249)
  })

  test('keeps hostile bodies small', () => {
    const fields: ReadField[] = [
      { root: 'body', path: ['a', '__proto__', 'b'] },
      { root: 'body', path: ['list'] },
      { root: 'query', path: ['q'] },
    ]
    const view = {
      ...withKey('k'),
      body: JSON.parse(
        `{"a":{"__proto__":{"b":"${'y'.repeat(10_000)}"}},"list":${JSON.stringify(Array(1000).fill({ deep: 1 }))}}`,
      ),
      query: { q: Array(500).fill('z'.repeat(300)) },
    }
    const kept = keptView(view, fields, hide)
    expect(JSON.stringify(kept).length).toBeLessThan(2000)
    expect(({} as { b?: unknown }).b).toBeUndefined()
  })
})

describe('a replay', () => {
  test('meets the overrides of keys that are hidden', async () => {
    const ring = ringFor(byKey)
    for (let i = 0; i < 5; i++) {
      ring.add({ request: withKey('sk-big'), cost: undefined }, allowed, 1000 + i)
      ring.add({ request: withKey('sk-small'), cost: undefined }, allowed, 1000 + i)
    }
    const { document, notes } = hideInDocument(byKey, hide)
    const outcomes = await replay(document, ring.all(), { env: {} })
    expect(notes).toEqual([])
    expect(outcomes.filter((each) => !each.allowed)).toHaveLength(1 + 3)
  })

  test('lets time pass as it passed then', async () => {
    const ring = ringFor(byKey)
    for (const second of [0, 1, 2, 60, 61]) ring.add({ request: withKey('a'), cost: undefined }, allowed, second * 1000)
    const outcomes = await replay(hideInDocument(byKey, hide).document, ring.all(), { env: {} })
    expect(outcomes.map((each) => each.allowed)).toEqual([true, true, false, true, true])
  })

  test('puts shadow rules beside those that deny', async () => {
    const running = { service: 'shop', rules: [{ name: 'all', key: 'const:all', limits: { rpm: 1 }, mode: 'shadow' }] }
    const tried = { service: 'shop', rules: [{ name: 'all', key: 'const:all', limits: { rpm: 1 } }] }
    const ring = ringFor(running)
    for (let i = 0; i < 3; i++) ring.add({ request: withKey('a'), cost: undefined }, allowed, i)
    const requests = ring.all()
    const compared = compareReplays(
      requests,
      await replay(running, requests, { env: {} }),
      await replay(tried, requests, { env: {} }),
      compilePolicy(tried),
    )
    expect(compared).toMatchObject({
      newlyDenied: 2,
      rules: [{ rule: 'all', denied: { running: 0, tried: 2 }, shadow: { running: 2, tried: 0 } }],
      subjects: [{ key: 'shop/all/all', requests: 3, denied: { running: 0, tried: 2 } }],
    })
  })

  test('of ten thousand requests leaves the event loop free in between', async () => {
    const ring = ringFor(byKey)
    for (let i = 0; i < 10_000; i++) ring.add({ request: withKey(`k${i % 500}`), cost: undefined }, allowed, i)
    let turns = 0
    const timer = setInterval(() => turns++, 1)
    const outcomes = await replay(byKey, ring.all(), { env: {} })
    clearInterval(timer)
    expect(outcomes).toHaveLength(10_000)
    expect(turns).toBeGreaterThan(5)
  })
})
