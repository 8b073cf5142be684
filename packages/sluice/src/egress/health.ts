import { formatDuration } from '../core/duration.ts'
import type { CompiledUpstream } from '../policy/upstream/upstream.ts'
import type { PartHealth } from '../runtime/part.ts'
import type { ExchangeReply } from './booking/messages.ts'
import { type OutageMode, outageMode } from './booking/outage.ts'

const outageTexts: Readonly<Record<OutageMode, string>> = {
  closed: 'nothing is granted',
  local: "this replica's share of the limits is granted, and the bound is not promised",
  open: 'everything is granted, and no bound is kept',
}

/** What an upstream with calls has noticed by itself. */
export interface Noticed {
  readonly outage: OutageMode | undefined
  readonly last: ExchangeReply | undefined
}

/** Whether calls can be granted now. */
export function egressHealth(
  upstreams: readonly CompiledUpstream[],
  noticedBy: (name: string) => Noticed | undefined,
  isReachable: boolean,
  replicas: number | undefined,
): PartHealth {
  const away = upstreams.flatMap(({ name, onStoreFailure }) => {
    const mode = noticedBy(name)?.outage ?? (isReachable ? undefined : outageMode(onStoreFailure, replicas))
    return mode === undefined ? [] : [{ name, mode }]
  })
  const textOf = ({ name, mode }: (typeof away)[number]): string =>
    `The shared state of the upstream ${name} does not answer; ${outageTexts[mode]}.`
  const stopped = away.filter(({ mode }) => mode === 'closed')
  return {
    ready: stopped.length === 0,
    reasons: stopped.map(textOf),
    warnings: [
      ...away.filter(({ mode }) => mode !== 'closed').map(textOf),
      ...upstreams.flatMap(({ name }) => waitTexts(name, noticedBy(name)?.last)),
    ],
  }
}

/** Why calls of an upstream wait longer than its limits make them, and until when. */
function waitTexts(name: string, last: ExchangeReply | undefined): readonly string[] {
  if (last === undefined) return []
  const { recoveringMs, pacedMs, pausedMs, widenedMs, widenedForMs } = last
  const texts = [
    recoveringMs > 0 && `lost its shared state, or is new; nothing is granted for ${formatDuration(recoveringMs)}`,
    recoveringMs === 0 &&
      pacedMs > 0 &&
      `does not know all calls of its period; calls are paced for ${formatDuration(pacedMs)}, to under twice a limit`,
    pausedMs > 0 && `is paused by its vendor for ${formatDuration(pausedMs)}`,
    widenedMs > 0 &&
      `was refused although there was room; requests count as ${widenedMs} ms on their way for ${formatDuration(widenedForMs)}`,
  ]
  return texts.filter((text) => text !== false).map((text) => `The upstream ${name} ${text}.`)
}

/** This machine and its link: what answers there is often a sidecar or a relay, and the vendor is behind it. */
const nearby = /^https?:\/\/(localhost|127\.|169\.254\.|\[::1\]|\[fe80:)/i

/** Why `arrival: auto` may not know the way to the vendor; undefined if nothing speaks for that. */
export function arrivalWarning(
  { name, origin, arrival }: CompiledUpstream,
  hasOwnDispatcher: boolean,
  roundTripMs: number | undefined,
  leastFirstByteMs: number,
): string | undefined {
  if (arrival !== 'auto' || origin === '') return undefined
  const remedy = 'state arrival as a duration'
  if (hasOwnDispatcher)
    return `The connections of the upstream ${name} belong to a dispatcher, so only responses show when calls arrived; ${remedy}.`
  const isRelay = nearby.test(origin) && roundTripMs !== undefined && roundTripMs < 1
  if (!isRelay || leastFirstByteMs === Infinity || leastFirstByteMs < 10 * Math.max(roundTripMs, 1)) return undefined
  return `The upstream ${name} is on this machine and answers slowly; if it passes calls on to a vendor, ${remedy}.`
}
