import fc from 'fast-check'
import { createLimiter, memoryStore } from 'sluice'
import { openPolicy } from 'sluice/policy'
import { virtualClock } from 'sluice/testing'
import { describe, expect, test } from 'vitest'
import { DecisionTurns } from '../decision-turns.ts'
import { EnvoyModel, type ModelEntries, type ModelNode, type ModelStatus } from '../testing/envoy-model.ts'
import { type EnvoyFile, importEnvoy } from './import-envoy.ts'
import { OverrideLimiters } from './override-limiters.ts'
import { shouldRateLimit } from './rate-limit-service.ts'
import type { DescriptorStatus } from './status.ts'

const domain = 'edge'
const minuteOf = (requests_per_unit: number, more: object = {}) => ({ unit: 'minute', requests_per_unit, ...more })

/** A configuration of one domain, in as many files as there are lists. */
const filesOf = (...lists: readonly (readonly ModelNode[])[]): EnvoyFile[] =>
  lists.map((descriptors, i) => ({ name: `${i}.yaml`, text: JSON.stringify({ domain, descriptors }) }))

async function serviceOf(files: readonly EnvoyFile[], shadow = false) {
  const clock = virtualClock(Date.UTC(2027, 5, 15, 12, 30, 30))
  const store = memoryStore({ clock })
  const policy = await openPolicy(importEnvoy(files).document as never)
  const limiter = await createLimiter({ policy, store, clock })
  const overrides = new OverrideLimiters({ store, service: () => 's', deadlineMs: 500, watch: () => () => {} })
  const parts = { limiter, policy, overrides, turns: new DecisionTurns(), shadow }
  return {
    async ask(descriptors: readonly ModelEntries[], hitsAddend = 1) {
      const asked = descriptors.map((entries) => ({
        entries: entries.map(([key, value]) => ({ key, value })),
        limit: null,
        hitsAddend: null,
      }))
      const { overallCode, statuses } = await shouldRateLimit(parts, { domain, descriptors: asked, hitsAddend })
      return { over: overallCode === 'OVER_LIMIT', statuses: statuses.map(asModel) }
    },
    close: () => Promise.all([limiter, policy, overrides, store].map((each) => each.close())),
  }
}

function asModel({ code, currentLimit, limitRemaining }: DescriptorStatus): ModelStatus {
  if (currentLimit === undefined)
    return limitRemaining === undefined ? [code] : [code, undefined, undefined, undefined, limitRemaining]
  return [code, currentLimit.requestsPerUnit, currentLimit.unit, currentLimit.name, limitRemaining]
}

/** The features that the example of Envoy's service shows, with names of our own. */
const example: readonly ModelNode[] = [
  { key: 'group', value: 'billing', rate_limit: minuteOf(4, { replaces: [{ name: 'vip' }, { name: 'beta' }] }) },
  {
    key: 'from',
    value: 'gateway',
    descriptors: [
      { key: 'to', value: 'orders', rate_limit: minuteOf(2, { replaces: [{ name: 'vip' }] }) },
      { key: 'to', value: 'stock', rate_limit: minuteOf(1) },
      { key: 'to', value: 'rescue', rate_limit: minuteOf(2, { replaces: [{ name: 'closed' }] }) },
      { key: 'to', value: 'beta', rate_limit: minuteOf(2, { name: 'beta' }) },
    ],
  },
  {
    key: 'user',
    rate_limit: minuteOf(2),
    descriptors: [
      { key: 'page', rate_limit: minuteOf(3) },
      { key: 'page', value: 'vip', rate_limit: minuteOf(1, { name: 'vip' }) },
      { key: 'page', value: 'closed', rate_limit: minuteOf(0, { name: 'closed' }) },
      { key: 'search', rate_limit: { unit: 'second', requests_per_unit: 1 } },
      { key: 'search', value: 'watched', rate_limit: minuteOf(3), shadow_mode: true },
      { key: 'open', rate_limit: { unlimited: true } },
    ],
  },
  { key: 'counted', detailed_metric: true, rate_limit: minuteOf(2) },
  { key: 'free', rate_limit: { unlimited: true } },
  { key: 'pool', value: 'one', quota_mode: true, rate_limit: minuteOf(1), metadata: { pool: { name: 'one' } } },
  { key: 'pool', value: 'two', quota_mode: true, rate_limit: minuteOf(2), metadata: { pool: { name: 'two' } } },
]

const closed: ModelEntries = [
  ['user', 'u'],
  ['page', 'closed'],
]
const rescue: ModelEntries = [
  ['from', 'gateway'],
  ['to', 'rescue'],
]

describe('an imported configuration with all that the example of the service has', () => {
  test('warns of what only decorates, with file and place', () => {
    expect(importEnvoy(filesOf(example)).warnings).toEqual([
      '0.yaml: descriptors[3].detailed_metric was left out: it concerns metrics only.',
      '0.yaml: descriptors[5].metadata was left out: it is for filters of the proxy only.',
      '0.yaml: descriptors[6].metadata was left out: it is for filters of the proxy only.',
    ])
  })

  test('a limit that another replaces is not asked and not spent', async () => {
    const { ask, close } = await serviceOf(filesOf(example))
    expect(await ask([closed])).toMatchObject({ over: true })
    expect(await ask([closed, rescue])).toEqual({ over: false, statuses: [['OK'], ['OK', 2, 'MINUTE', '', 1]] })
    const vip: ModelEntries = [...closed.slice(0, 1), ['page', 'vip']]
    expect((await ask([vip, [['group', 'billing']]])).statuses[0]).toEqual(['OK'])
    expect((await ask([vip])).statuses[0]).toEqual(['OK', 1, 'MINUTE', 'vip', 0])
    await close()
  })

  test('quotas deny only when all of them are used up', async () => {
    const { ask, close } = await serviceOf(filesOf(example))
    const both: ModelEntries[] = [[['pool', 'one']], [['pool', 'two']]]
    const seen = [await ask(both), await ask(both), await ask(both)]
    expect(seen.map(({ over }) => over)).toEqual([false, false, true])
    expect(seen[1]!.statuses.map(([code]) => code)).toEqual(['OVER_LIMIT', 'OK'])
    await close()
  })

  test('with the switch for all, a request is never denied and its descriptors are still judged', async () => {
    const { ask, close } = await serviceOf(filesOf(example), true)
    expect(await ask([closed])).toMatchObject({ over: false, statuses: [['OVER_LIMIT', 0, 'MINUTE', 'closed', 0]] })
    await close()
  })

  test('answers every two of its descriptors as the model does', async () => {
    const all: ModelEntries[] = [
      ...['billing', 'other'].map((value): ModelEntries => [['group', value]]),
      ...['orders', 'stock', 'rescue', 'beta', 'other'].map(
        (to): ModelEntries => [
          ['from', 'gateway'],
          ['to', to],
        ],
      ), // prettier-ignore
      ...['vip', 'closed', 'other'].map(
        (page): ModelEntries => [
          ['user', 'u'],
          ['page', page],
        ],
      ), // prettier-ignore
      ...['watched', 'other'].map(
        (search): ModelEntries => [
          ['user', 'u'],
          ['search', search],
        ],
      ), // prettier-ignore
      [['user', 'u']],
      [
        ['user', 'u'],
        ['open', 'x'],
      ], // prettier-ignore
      [['counted', 'c']],
      [['free', 'f']],
      ...['one', 'two', 'three'].map((pool): ModelEntries => [['pool', pool]]),
    ]
    const { ask, close } = await serviceOf(filesOf(example))
    const model = new EnvoyModel(example)
    for (const one of all)
      for (const two of all) expect(await ask([one, two]), JSON.stringify([one, two])).toEqual(model.ask([one, two], 1))
    await close()
  })
})

const names = ['n1', 'n2', 'n3'] as const
const limit = fc.oneof(
  { weight: 1, arbitrary: fc.constant({ unlimited: true as const }) },
  {
    weight: 5,
    arbitrary: fc.record(
      {
        unit: fc.constantFrom('second', 'minute', 'hour', 'day', 'week', 'month', 'year'),
        requests_per_unit: fc.nat(3),
        name: fc.constantFrom(...names),
        replaces: fc.subarray([...names].map((name) => ({ name }))),
      },
      { requiredKeys: ['unit', 'requests_per_unit'] },
    ),
  },
)
const values = ['x', 'xy', 'xyz', '*', 'x*', '*z', 'x*z', 'xy*', 'x*y*z', 'q*', undefined] as const

const nodesAt = (depth: number): fc.Arbitrary<ModelNode[]> =>
  fc.uniqueArray(
    fc
      .record(
        {
          key: fc.constantFrom('a', 'b'),
          value: fc.constantFrom(...values),
          rate_limit: limit,
          shadow_mode: fc.constantFrom(false, false, true),
          quota_mode: fc.boolean(),
          share_threshold: fc.boolean(),
          descriptors: depth === 0 ? fc.constant([]) : nodesAt(depth - 1),
        },
        { requiredKeys: ['key'] },
      )
      .map((node): ModelNode => JSON.parse(JSON.stringify(coherent(node)))),
    { maxLength: depth === 2 ? 7 : 4, selector: ({ key, value }) => `${key} ${value}` },
  )

/** Without what the service itself would refuse. */
function coherent({ share_threshold, rate_limit, ...node }: ModelNode): ModelNode {
  const { name, replaces, ...rest } = rate_limit ?? {}
  const others = replaces?.filter((each) => each.name !== name)
  return {
    ...node,
    ...(rate_limit && { rate_limit: { ...rest, ...(name && { name }), ...(others && { replaces: others }) } }),
    ...(share_threshold && node.value?.includes('*') && { share_threshold }),
  }
}

const sent = ['', 'x', 'xy', 'xyz', 'xz', 'yz', 'q', `x${'-'.repeat(300)}z`, `x${'+'.repeat(300)}`, '\0', 'sha256:']
const entries = fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom(...sent)), { minLength: 1, maxLength: 3 })
const requests = fc.array(
  fc.oneof(
    fc.record({ descriptors: fc.array(entries, { minLength: 1, maxLength: 3 }), hits: fc.constant(1) }),
    fc.record({ descriptors: fc.tuple(entries), hits: fc.integer({ min: 1, max: 3 }) }),
  ),
  { minLength: 20, maxLength: 60 },
)

test('random configurations, also of several files, answer random requests as the model does', async () => {
  await fc.assert(
    fc.asyncProperty(nodesAt(2), fc.nat(7), requests, async (nodes, split, asked) => {
      const limited = JSON.stringify(nodes).includes('rate_limit')
      fc.pre(limited)
      const { ask, close } = await serviceOf(filesOf(nodes.slice(0, split), nodes.slice(split)))
      const model = new EnvoyModel(nodes)
      for (const { descriptors, hits } of asked)
        expect(await ask(descriptors, hits), JSON.stringify({ descriptors, hits })).toEqual(
          model.ask(descriptors, hits),
        )
      await close()
    }),
  )
}, 120_000)
