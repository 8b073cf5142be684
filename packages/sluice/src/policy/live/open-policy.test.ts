import { afterEach, describe, expect, it, vi } from 'vitest'
import { createCapacity } from '../../capacity/create-capacity.ts'
import { createEgress } from '../../egress/create-egress.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { openPolicy } from './open-policy.ts'
import type { PolicySource, SourcedDocument, SourceListener } from './source.ts'

const opened: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})
function closing<Made extends { close(): Promise<unknown> }>(made: Made): Made {
  opened.push(made)
  return made
}

const documentOf = (version: string, amount = 1, more: object = {}) => ({
  service: 'shop',
  version,
  rules: [{ name: 'r', key: 'query.user', limits: { rpm: amount }, ...more }],
  upstreams: [{ name: 'vendor', origin: 'http://127.0.0.1:9', limits: { rps: amount } }],
  capacity: { table: [{ below: 90, maxBatchSize: amount, delay: '1s' }] },
})

/** A source that the test pushes by hand, and that counts how often it is started and closed. */
function countedSource(first: unknown) {
  let listener: SourceListener | undefined
  const counted = { starts: 0, closes: 0 }
  const sourced = (document: unknown): SourcedDocument => ({ document, revision: undefined })
  const source: PolicySource = {
    description: 'hand',
    start: async (to) => {
      counted.starts++
      listener = to
      return sourced(first)
    },
    close: async () => void counted.closes++,
  }
  return { source, counted, push: (document: unknown) => listener!.changed(sourced(document)) }
}

describe('an open policy', () => {
  it('is read and compiled once for all parts, which change to a new version together', async () => {
    const { source, counted, push } = countedSource(documentOf('1'))
    const policy = closing(await openPolicy(source))
    const limiter = closing(await createLimiter({ policy }))
    const egress = closing(await createEgress({ policy }))
    const capacity = closing(await createCapacity({ policy, process: false }))
    const versions = () => [limiter.policy.status.version, egress.policy.version, policy.status.version]
    const seen: string[] = []
    limiter.on('policyLoaded', ({ version }) => seen.push(`limiter ${version}`))
    egress.on('policyLoaded', ({ version }) => seen.push(`egress ${version}`))
    expect([versions(), capacity.stats().maxBatchSize]).toEqual([['1', '1', '1'], 1])
    push(documentOf('2', 7))
    await vi.waitFor(() => expect(versions()).toEqual(['2', '2', '2']))
    expect(seen).toEqual(['limiter 2', 'egress 2'])
    expect((await limiter.take('a')).limits[0]?.amount).toBe(7)
    expect([egress.stats()[0]?.limits[0]?.amount, capacity.stats().maxBatchSize]).toEqual([7, 7])
    expect(egress.upstreams).toBe(policy.current.upstreams)
    expect(counted).toEqual({ starts: 1, closes: 0 })
  })

  it('tells all parts of a refused document, and each keeps the version in force', async () => {
    const { source, push } = countedSource(documentOf('1'))
    const policy = closing(await openPolicy(source))
    const limiter = closing(await createLimiter({ policy }))
    const egress = closing(await createEgress({ policy }))
    const seen: string[] = []
    limiter.on('policyRejected', ({ error }) => seen.push(error.message))
    egress.on('policyRejected', ({ error }) => seen.push(error.message))
    push({ ...documentOf('2'), rules: [] })
    await vi.waitFor(() => expect(seen).toHaveLength(2))
    expect(seen[0]).toMatch(/rules .*list at least one/)
    expect([limiter.policy.status.version, egress.policy.version]).toEqual(['1', '1'])
    expect((await limiter.health()).warnings[0]).toMatch(/The policy in force is version 1; newer is refused/)
  })

  it('stays open when a part closes, and that part hears no more of it', async () => {
    const { source, counted, push } = countedSource(documentOf('1'))
    const policy = await openPolicy(source)
    const limiter = await createLimiter({ policy })
    const egress = await createEgress({ policy })
    const seen: string[] = []
    limiter.on('policyLoaded', ({ version }) => seen.push(version))
    egress.on('policyLoaded', ({ version }) => seen.push(version))
    await limiter.close()
    await egress.close()
    push(documentOf('2'))
    await vi.waitFor(() => expect(policy.current.version).toBe('2'))
    expect([seen, counted.closes]).toEqual([[], 0])
    await policy.close()
    expect(counted.closes).toBe(1)
  })

  it('is closed by the part that opened it', async () => {
    for (const create of [createLimiter, createEgress, createCapacity]) {
      const { source, counted } = countedSource(documentOf('1'))
      await (await create({ policy: source })).close()
      expect(counted.closes).toBe(1)
    }
  })

  it('has the functions and the environment of its documents', async () => {
    const document = documentOf('1', 1, { key: 'fn:tenantOf', tier: { env: true }, tiers: { big: { rpm: 9 } } })
    const functions = { tenantOf: () => 'acme' }
    const policy = closing(await openPolicy(document, { functions, env: { RATE_LIMIT_TIER: 'big' } }))
    const limiter = closing(await createLimiter({ policy }))
    closing(await createEgress({ policy }))
    const request = { method: 'GET', path: '/', headers: {}, query: {}, params: {}, body: undefined, ip: undefined }
    expect((await limiter.check(request)).limits[0]?.amount).toBe(9)
  })

  it.each(['functions', 'env', 'fallbackPolicy'])('has %s itself: a part that shares it refuses them', async (name) => {
    const policy = closing(await openPolicy(documentOf('1')))
    await expect(createLimiter({ policy, [name]: {} })).rejects.toThrow(
      `createLimiter.${name} is an object; the policy is shared; write openPolicy(source, { ${name} })`,
    )
  })

  it('begins with the fallback of its owner while the source has nothing', async () => {
    const source = { ...countedSource({}).source, start: () => Promise.reject(new Error('down')) }
    const policy = closing(await openPolicy(source, { fallbackPolicy: documentOf('spare') }))
    const limiter = closing(await createLimiter({ policy }))
    expect(limiter.policy.status).toMatchObject({ version: 'spare', lastError: { message: 'down' } })
    expect(policy.document).toBeUndefined()
  })

  it('is refused by parts once it is closed, and while it is still a promise', async () => {
    const policy = await openPolicy(documentOf('1'))
    await policy.close()
    const closed = 'The policy is closed; open a new one with openPolicy.'
    await expect(createLimiter({ policy })).rejects.toThrow(closed)
    await expect(createEgress({ policy })).rejects.toThrow(closed)
    const forgotten = openPolicy(documentOf('1')) as never
    await expect(createEgress({ policy: forgotten })).rejects.toThrow('wait for it: await openPolicy(source)')
  })

  it('refuses what is no source, and events that it does not have', async () => {
    await expect(openPolicy('sluice.yaml' as never)).rejects.toThrow("pass a source such as filePolicy('sluice.yaml')")
    await expect(openPolicy({} as never, { functions: { tenantOf: 'x' } as never })).rejects.toThrow('pass a function')
    const policy = closing(await openPolicy(documentOf('1')))
    expect(() => policy.on('load' as never, () => {})).toThrow('did you mean "loaded"?')
  })

  it('with twenty thousand overrides is replaced in slices: the parts beside it go on', async () => {
    const { source, push } = countedSource(documentOf('1'))
    const policy = closing(await openPolicy(source))
    const limiter = closing(await createLimiter({ policy }))
    const egress = closing(await createEgress({ policy }))
    const overrides = Array.from({ length: 20_000 }, (_, i) => ({ key: `tenant-${i}`, limits: { rpm: i } }))
    push(documentOf('2', 1, { overrides }))
    let decisions = 0
    while (egress.policy.version === '1') {
      await limiter.take('somebody')
      decisions++
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(decisions).toBeGreaterThan(10)
    expect(limiter.policy.status.version).toBe('2')
  })
})
