import type { TimeSource } from '../../core/clock.ts'
import { invalidOption } from '../../core/errors.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import { draft11 } from './draft-11.ts'
import type { HeaderWriter, NameOf } from './header.ts'
import { draft6, draft7, xRateLimit, xRateLimitEpoch } from './older-drafts.ts'
import { openAi } from './openai.ts'

/**
 * A form of the rate-limit headers. The IETF's draft still moves, so the form is chosen by its number. `x-ratelimit`
 * counts its reset from now, `x-ratelimit-epoch` from 1970; `openai` is `x-ratelimit-limit-requests`, `-tokens`.
 */
export type HeaderVersion = 'draft-11' | 'draft-7' | 'draft-6' | 'x-ratelimit' | 'x-ratelimit-epoch' | 'openai'

const versions: Readonly<Record<HeaderVersion, (nameOf: NameOf, clock: TimeSource) => HeaderWriter>> = {
  'draft-11': draft11,
  'draft-7': draft7,
  'draft-6': draft6,
  'x-ratelimit': () => xRateLimit,
  'x-ratelimit-epoch': (_, clock) => xRateLimitEpoch(clock),
  openai: () => openAi,
}

/**
 * Makes the serializer for one version of the headers, or for several together.
 *
 * @example const write = rateLimitHeaders(['draft-11', 'x-ratelimit'], (limit) => limit.name)
 */
export function rateLimitHeaders(
  version: HeaderVersion | readonly HeaderVersion[] | false,
  nameOf: NameOf,
  clock: TimeSource = systemClock(),
): HeaderWriter {
  const writers = headerVersions(version).map((each) => versions[each](nameOf, clock))
  const [only] = writers
  return function writeHeaders(decision, partition) {
    if (only === undefined || decision.limits.length === 0) return []
    // A block is no quota: `Retry-After` says when it ends.
    const shown =
      decision.reason === 'blocked' ? { ...decision, limits: decision.limits.filter(({ block }) => !block) } : decision
    return writers.length === 1 ? only(shown, partition) : writers.flatMap((write) => write(shown, partition))
  }
}

/** The versions that are chosen; refuses what is none, and those that exclude each other. */
export function headerVersions(version: HeaderVersion | readonly HeaderVersion[] | false): readonly HeaderVersion[] {
  const chosen = version === false ? [] : [version].flat()
  for (const each of chosen) {
    if (!Object.hasOwn(versions, each)) {
      throw invalidOption('headers', each, `use false, one of ${Object.keys(versions).join(', ')}, or a list of them`)
    }
  }
  refuseClash(chosen)
  return chosen
}

/** Two drafts use the same field names for different values, so a client could not know which is meant. */
function refuseClash(chosen: readonly HeaderVersion[]): void {
  for (const family of ['draft-', 'x-ratelimit']) {
    if (chosen.filter((each) => each.startsWith(family)).length > 1) {
      throw invalidOption('headers', chosen.join(' + '), 'their fields have the same names; choose one of each kind')
    }
  }
}
