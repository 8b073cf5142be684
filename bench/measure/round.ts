import { setImmediate as turn } from 'node:timers/promises'
import type { Contender } from '../contenders/contender.ts'
import { quantile } from './stats.ts'

/** How long and with how many callers to measure in one round. */
export interface Load {
  readonly inFlight: number
  readonly ms: number
  readonly maxDecisions: number
  /** What every answer must be; anything else means that something else was measured. */
  readonly expect: 'allowed' | 'denied'
}

export interface RoundResult {
  readonly decisions: number
  readonly perSecond: number
  readonly p50Us: number
  readonly p99Us: number
  /** CPU time of this Node process, all its threads, per decision. */
  readonly cpuUs: number
  /** CPU time of Redis per decision, where there is one. */
  readonly redisUs?: number
}

/** One decision in this many is timed, so that timing does not become what is measured. */
const sampleEvery = 16
const turnEvery = 4096

/** Keeps `inFlight` callers busy, each awaiting its answer before it continues. */
export async function runRound(
  contender: Contender,
  subjects: readonly string[],
  order: Uint32Array,
  load: Load,
): Promise<RoundResult> {
  const mask = order.length - 1
  const latencies: number[] = []
  const expected = load.expect === 'allowed'
  const { maxDecisions } = load
  let asked = 0
  let running = true
  const cpu = process.cpuUsage()
  const started = performance.now()
  const until = started + load.ms

  async function lane(number: number): Promise<void> {
    while (running) {
      const ask = asked++
      const subject = subjects[order[ask & mask]!]!
      const sampled = ask % sampleEvery === 0
      const before = sampled ? performance.now() : 0
      let allowed = false
      try {
        allowed = contender.allowed(await contender.decide(subject, number))
      } catch (denial) {
        if (denial instanceof Error) throw denial
      }
      if (allowed !== expected)
        throw new Error(`${subject} was ${allowed ? 'allowed' : 'denied'}; the case expects ${load.expect}`)
      if (!sampled) continue
      const after = performance.now()
      latencies.push(after - before)
      if (after >= until || asked >= maxDecisions) running = false
      // Contenders that answer without I/O would otherwise never let timers run.
      if (ask % turnEvery === 0) await turn()
    }
  }

  await Promise.all(Array.from({ length: load.inFlight }, (_, number) => lane(number)))
  const seconds = (performance.now() - started) / 1000
  const { user, system } = process.cpuUsage(cpu)
  latencies.sort((a, b) => a - b)
  return {
    decisions: asked,
    perSecond: asked / seconds,
    p50Us: quantile(latencies, 0.5) * 1000,
    p99Us: quantile(latencies, 0.99) * 1000,
    cpuUs: (user + system) / asked,
  }
}
