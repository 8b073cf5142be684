import { cached, type LookupResult } from './flights/flight.ts'
import type { DefinedKey } from './keys/cache-key.ts'
import { levelOf } from './l1/entry.ts'
import type { L1 } from './l1/l1.ts'
import type { L2 } from './l2/l2.ts'
import type { ResolvedOptions } from './options.ts'

/** Reads keys that are not fresh in L1, in one round trip per Redis node. Undefined for what is not cached. */
export async function readMany(
  l1: L1,
  l2: L2 | undefined,
  { clock, redisDeadlineMs }: ResolvedOptions,
  keys: readonly DefinedKey[],
): Promise<(LookupResult | undefined)[]> {
  const endMs = clock.monotonic() + redisDeadlineMs
  const proof = l2?.log.prove(redisDeadlineMs)
  if (proof !== undefined && proof !== true) await proof
  const start = l1.readStart()
  const encoded = keys.map((key) => key.encoded)
  const replies = await l2?.read(encoded, endMs - clock.monotonic())
  return keys.map((key, index) => {
    const stored = replies?.[index]
    const entry = l2?.take(key, stored, start) ?? l1.entries.peek(key.encoded)
    const state = entry === undefined ? 'none' : l1.stateOf(entry)
    if (entry === undefined || state === 'none') return undefined
    return cached(entry, state !== 'fresh', levelOf(entry, stored))
  })
}
