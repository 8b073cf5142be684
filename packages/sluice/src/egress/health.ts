import type { CompiledUpstream } from '../policy/upstream/upstream.ts'
import type { PartHealth } from '../runtime/part.ts'
import { type OutageMode, outageMode } from './places/outage.ts'

const outageTexts: Readonly<Record<OutageMode, string>> = {
  held: 'calls go on with the places that this process holds',
  closed: 'nothing is granted',
  local: "this replica's share of the limits is granted, and the bound is not promised",
  open: 'everything is granted, and no bound is kept',
}

/** Whether calls can be granted now. `outageOf` tells what an upstream with calls has noticed by itself. */
export function egressHealth(
  upstreams: readonly CompiledUpstream[],
  outageOf: (name: string) => OutageMode | undefined,
  isReachable: boolean,
  replicas: number | undefined,
): PartHealth {
  const away = upstreams.flatMap(({ name, onStoreFailure }) => {
    // One that has made no call holds nothing.
    const mode = outageOf(name) ?? (isReachable ? undefined : outageMode(-1, 0, onStoreFailure, replicas))
    return mode === undefined ? [] : [{ name, mode }]
  })
  const textOf = ({ name, mode }: (typeof away)[number]): string =>
    `The shared state of the upstream ${name} does not answer; ${outageTexts[mode]}.`
  const stopped = away.filter(({ mode }) => mode === 'closed')
  return {
    ready: stopped.length === 0,
    reasons: stopped.map(textOf),
    warnings: away.filter(({ mode }) => mode !== 'closed').map(textOf),
  }
}
