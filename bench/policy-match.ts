import { compilePolicy } from '../packages/sluice/src/policy/compile/compile-policy.ts'
import type { CompiledPolicy } from '../packages/sluice/src/policy/compiled-policy.ts'
import { parseDocument } from '../packages/sluice/src/policy/document/parse/parse-document.ts'
import type { RequestView } from '../packages/sluice/src/policy/request-view.ts'
import { type MemoryStore, memoryStore } from '../packages/sluice/src/stores/memory/memory-store.ts'

/** Prints what matching costs with few and with many rules, and what overrides cost to load and to look up. */
export async function benchPolicy(): Promise<void> {
  for (const shape of ['path', 'header'] as const) {
    const few = compilePolicy(rulesBy(shape, 10))
    const many = compilePolicy(rulesBy(shape, 1000))
    const [fewNs, manyNs] = alternate(
      () => matchEach(few, shape, 10),
      () => matchEach(many, shape, 1000),
    )
    print(`match, rules by ${shape}: 10 rules`, `${fewNs.toFixed(0)} ns`)
    print(
      `match, rules by ${shape}: 1,000 rules`,
      `${manyNs.toFixed(0)} ns`,
      `${(manyNs / fewNs).toFixed(2)}x, at most 3x`,
    )
  }
  await benchOverrides()
}

async function benchOverrides(): Promise<void> {
  const none = compilePolicy(withOverrides(0))
  const text = JSON.stringify(withOverrides(100_000))
  const started = performance.now()
  const all = compilePolicy(parseDocument(text))
  const seconds = (performance.now() - started) / 1000
  const store = memoryStore()
  const [noneNs, allNs] = alternate(
    () => decideEach(none, store),
    () => decideEach(all, store),
  )
  await store.close()
  print('decide in memory, 0 overrides', `${noneNs.toFixed(0)} ns`)
  print('decide in memory, 100,000 overrides', `${allNs.toFixed(0)} ns`, `${(allNs / noneNs).toFixed(2)}x`)
  print('load 100,000 overrides (JSON)', `${seconds.toFixed(2)} s`, 'at most 2 s')
}

// Rounds of about a millisecond: on a busy machine some of them run undisturbed, and the best one counts.
const rounds = 200
const perRound = 2000

/**
 * Runs two functions alternately, so that both have the same noise, and returns the nanoseconds per call of the best
 * round of each.
 */
function alternate(a: () => void, b: () => void): readonly [number, number] {
  const best = [Infinity, Infinity] as [number, number]
  for (let round = 0; round < rounds; round++) {
    for (const [i, run] of [a, b].entries()) {
      const started = performance.now()
      run()
      best[i] = Math.min(best[i]!, ((performance.now() - started) * 1e6) / perRound)
    }
  }
  return best
}

function rulesBy(shape: 'path' | 'header', count: number): object {
  const rules = Array.from({ length: count }, (_, i) => ({
    name: `rule-${i}`,
    match: {
      method: 'POST',
      ...(shape === 'path' ? { path: `/v1/service-${i}/:id` } : { headers: { 'x-service': `service-${i}` } }),
    },
    key: ['headers.x-tenant'],
    limits: { rpm: 1000 },
  }))
  return { service: 'bench', rules }
}

const requestsOf = new Map<string, readonly RequestView[]>()

function matchEach(policy: CompiledPolicy, shape: 'path' | 'header', count: number): void {
  const id = `${shape} ${count}`
  const requests =
    requestsOf.get(id) ??
    Array.from({ length: count }, (_, i) => ({
      method: 'POST',
      path: shape === 'path' ? `/v1/service-${i}/42` : '/v1/any',
      headers: { 'x-tenant': `tenant-${i}`, 'x-service': `service-${i}` },
    }))
  requestsOf.set(id, requests)
  for (let i = 0; i < perRound; i++) {
    if (policy.match(requests[i % count]!, 0).rules.length !== 1) throw new Error('each request hits one rule')
  }
}

function withOverrides(count: number): object {
  const overrides = Array.from({ length: count }, (_, i) => ({
    key: [`client-${i}`, 'en'],
    limits: { rpm: 500 + (i % 1000), rph: 20_000, rpd: 250_000 },
  }))
  return {
    service: 'bench',
    rules: [
      {
        name: 'rule',
        key: ['body.tenant', 'body.language'],
        limits: { rpm: 1000, rph: 20_000, rpd: 250_000 },
        overrides,
      },
    ],
  }
}

const tenants: readonly RequestView[] = Array.from({ length: 1000 }, (_, i) => ({
  method: 'POST',
  path: '/',
  headers: {},
  body: { tenant: `client-${i * 100}`, language: 'en' },
}))

/** Decides on requests of many tenants, each of which has an override where there are any. */
function decideEach(policy: CompiledPolicy, store: MemoryStore): void {
  for (let i = 0; i < perRound; i++) {
    const { rules } = policy.match(tenants[i % 1000]!, 0)
    store.decide({ kind: 'take', charges: rules, copies: 1, hold: undefined }, 500)
  }
}

function print(what: string, measured: string, ratio = ''): void {
  console.log(`${what.padEnd(44)}${measured.padStart(12)}  ${ratio}`)
}
