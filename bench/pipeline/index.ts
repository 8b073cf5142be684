import { collect } from '../measure/collect.ts'
import type { CaseResult } from '../report/result.ts'
import { benchLoad } from './load.ts'
import { benchMemory } from './memory.ts'
import { benchRate } from './rate.ts'
import { benchStreams } from './streams.ts'

/** Pipelines: a file into PostgreSQL, Redis Streams, a rate over several workers, and memory over many records. */
export function benchPipeline(rounds: number, quick: boolean, only: string): Promise<CaseResult[]> {
  const steps = [
    { title: 'load', run: () => benchLoad(rounds, quick ? 100_000 : 200_000) },
    { title: 'streams', run: () => benchStreams(rounds, quick ? 50_000 : 100_000) },
    { title: 'rate', run: () => benchRate(quick ? 10 : 30) },
    { title: 'memory', run: () => benchMemory(quick ? 200_000 : 1_000_000) },
  ]
  return collect(steps, only)
}
