import { setImmediate as turn } from 'node:timers/promises'
import { createLimiter, type Store } from 'sluice'

/** `spread`: many keys, all allowed. `hot key`: one key. `denied`: keys that are used up, as in a flood. */
export const benchCases = ['spread', 'hot key', 'denied'] as const
export type BenchCase = (typeof benchCases)[number]

export interface BenchLoad {
  readonly ms: number
  readonly concurrency: number
  readonly keys: number
}

export interface CaseResult {
  readonly store: string
  readonly name: BenchCase
  readonly decisions: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Decisions made without the store, because it failed. */
  readonly failed: number
}

const most = 1e12
const warmUp = 1000
/** One decision in this many is timed. */
const sampleEvery = 8
/** Callers that get their answers at once would otherwise never let the progress be drawn. */
const turnEvery = 512

/** Lets callers ask for a while, each waiting for its answer, and forgets the keys afterwards. */
export async function runCase(
  store: { readonly name: string; open(): Store },
  name: BenchCase,
  load: BenchLoad,
  report: (share: number, perSecond: number) => void,
): Promise<CaseResult> {
  const limits = { rpm: name === 'denied' ? 1 : most, rph: most }
  const limiter = await createLimiter({
    policy: { service: 'sluice-bench', rules: [{ name: 'bench', limits }] },
    store: store.open(),
    env: {},
  })
  const run = `${process.pid}-${Date.now()}`
  const keys = Array.from({ length: name === 'spread' ? load.keys : 1 }, (_, k) => `${run}-${k}`)
  try {
    // Uses up the limits of keys that must be denied, and warms up the code.
    for (let ask = 0; ask < warmUp; ask++) await limiter.take(keys[ask % keys.length] ?? run)
    const startMs = performance.now()
    const times: number[] = []
    let [decisions, failed, shownMs] = [0, 0, 0]
    let running = true
    // All of them pause: the promises of one would keep the loop busy while the others go on.
    let pause: Promise<void> | undefined
    const caller = async (): Promise<void> => {
      while (running) {
        const ask = decisions++
        const timed = ask % sampleEvery === 0
        const beforeMs = timed ? performance.now() : 0
        if ((await limiter.take(keys[ask % keys.length] ?? run)).degraded) failed++
        const nowMs = timed ? performance.now() : 0
        if (ask % turnEvery === 0) pause ??= turn().finally(() => (pause = undefined))
        if (pause !== undefined) await pause
        if (!timed) continue
        times.push(nowMs - beforeMs)
        const goneMs = nowMs - startMs
        if (goneMs >= load.ms) running = false
        if (goneMs - shownMs < 100) continue
        shownMs = goneMs
        report(goneMs / load.ms, (decisions / goneMs) * 1000)
      }
    }
    await Promise.all(Array.from({ length: load.concurrency }, caller))
    const tookMs = performance.now() - startMs
    times.sort((a, b) => a - b)
    const at = (q: number): number => times[Math.floor(q * times.length)] ?? 0
    return {
      store: store.name,
      name,
      decisions,
      perSecond: (decisions / tookMs) * 1000,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      failed,
    }
  } finally {
    for (let k = 0; k < keys.length; k += 256) {
      await Promise.allSettled(keys.slice(k, k + 256).map((key) => limiter.reset(key)))
    }
    await limiter.close()
  }
}
