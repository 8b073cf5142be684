import type { SourcedDocument, SourceListener } from 'sluice'
import { expect, test } from 'vitest'
import { rlsMethod } from './descriptor.ts'
import { routedPolicy } from './routed-policy.ts'

const documentWith = (overrides: number, name = 'per-user') => ({
  service: 'shop',
  rules: [
    {
      name,
      match: { method: rlsMethod },
      key: 'query.user',
      limits: { rpm: 10 },
      overrides: Array.from({ length: overrides }, (_, i) => ({ key: `tenant-${i}`, limits: { rpm: i } })),
    },
  ],
})
const descriptor = { method: rlsMethod, path: '/', headers: {}, query: { user: 'a' } }
const ignoring: SourceListener = { changed: () => true, failed: () => {}, recovered: () => {} }
const sourceOf = (first: SourcedDocument) => ({ description: 'test', start: async () => first, close: async () => {} })

test('a large policy is made ready for descriptors in slices: other work goes on', async () => {
  const policy = routedPolicy(sourceOf({ document: documentWith(20_000), revision: 1 }), {})
  let turns = 0
  let ready = false
  const count = (): void => {
    turns++
    if (!ready) setImmediate(count)
  }
  const sourced = await policy.source.start(ignoring)
  expect(policy.document, 'nothing is compiled before the limiter asks for it').toBeUndefined()
  setImmediate(count)
  const parsed = await sourced.parse!()
  ready = true
  expect(turns).toBeGreaterThan(10)
  expect(parsed).toMatchObject({ rules: [{ match: { query: { rule: 'per-user' } } }] })
})

test('a long text is parsed by its source, which does so without blocking', async () => {
  let asked = 0
  const parse = async () => {
    asked++
    return documentWith(1)
  }
  const policy = routedPolicy(sourceOf({ document: 'not: {parsed', revision: 1, parse }), {})
  const sourced = await policy.source.start(ignoring)
  await sourced.parse!()
  policy.accepted()
  expect([asked, policy.route(descriptor)?.rule.name]).toEqual([1, 'per-user'])
  expect(policy.parsed, 'what it found is kept, so that nobody parses the text again').toEqual(documentWith(1))
})

test('descriptors are routed by the policy in force until the limiter has accepted the next', async () => {
  let push: SourceListener = ignoring
  const pushed: SourcedDocument[] = []
  const source = {
    ...sourceOf({ document: documentWith(1), revision: 1 }),
    start: async (listener: SourceListener) => {
      push = listener
      return { document: documentWith(1), revision: 1 }
    },
  }
  const policy = routedPolicy(source, {})
  await (await policy.source.start({ ...ignoring, changed: (document) => pushed.push(document) > 0 })).parse!()
  policy.accepted()
  push.changed({ document: documentWith(1, 'next'), revision: 2 })
  await pushed[0]!.parse!()
  expect(policy.route(descriptor)?.rule.name).toBe('per-user')
  policy.accepted()
  expect(policy.route(descriptor)?.rule.name).toBe('next')
})

test('a document with mistakes is left to the limiter, which tells of them', async () => {
  const document = { service: 'shop', rules: [{ name: 'r', match: { method: rlsMethod }, limits: { rpn: 1 } }] }
  const policy = routedPolicy(sourceOf({ document, revision: 1 }), {})
  expect(await (await policy.source.start(ignoring)).parse!()).toBe(document)
})
