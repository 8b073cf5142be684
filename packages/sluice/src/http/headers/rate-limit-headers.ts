import type { LimitStatus } from '../../core/ask.ts'
import { invalidOption } from '../../core/errors.ts'
import type { Decision } from '../../limiter/decision.ts'
import { draft11 } from './draft-11.ts'
import type { Header } from './header.ts'
import { draft6, draft7 } from './older-drafts.ts'
import { xRateLimit, xRateLimitEpoch } from './x-rate-limit.ts'

/**
 * A form of the rate-limit headers. The IETF's draft still moves, so the form is chosen by its number. `x-ratelimit` counts
 * its reset from now, `x-ratelimit-epoch` from 1970.
 */
export type HeaderVersion = 'draft-11' | 'draft-7' | 'draft-6' | 'x-ratelimit' | 'x-ratelimit-epoch'

/** The name under which clients see a limit. */
export type NameOf = (status: LimitStatus) => string

/** What a writer needs to know besides the limits. */
export interface HeaderContext {
  readonly policyVersion: string
  /** The partition key as a parameter, or nothing. */
  readonly partition: string
}

/** Appends the fields of one version for at least one limit. */
export type HeaderWriter = (headers: Header[], limits: readonly LimitStatus[], context: HeaderContext) => void

const versions: Readonly<Record<HeaderVersion, (nameOf: NameOf) => HeaderWriter>> = {
  'draft-11': draft11,
  'draft-7': draft7,
  'draft-6': draft6,
  'x-ratelimit': () => xRateLimit,
  'x-ratelimit-epoch': () => xRateLimitEpoch,
}

/** Appends the rate-limit headers of a decision. `partition` is the parameter `;pk=...`, or nothing. */
export type WriteHeaders = (headers: Header[], decision: Decision, partition: string) => void

/**
 * Makes the serializer for one version of the headers, or for several together.
 *
 * @example const write = rateLimitHeaders(['draft-11', 'x-ratelimit'], (limit) => limit.name)
 */
export function rateLimitHeaders(
  version: HeaderVersion | readonly HeaderVersion[] | false,
  nameOf: NameOf,
): WriteHeaders {
  const chosen: readonly HeaderVersion[] =
    version === false ? [] : typeof version === 'string' ? [version] : Array.isArray(version) ? version : [version]
  const writers = chosen.map((each) => {
    if (!Object.hasOwn(versions, each)) {
      throw invalidOption('headers', each, `use false, one of ${Object.keys(versions).join(', ')}, or a list of them`)
    }
    return versions[each](nameOf)
  })
  refuseClash(chosen)
  return function writeHeaders(headers, decision, partition) {
    if (writers.length === 0 || decision.limits.length === 0) return
    const context = { policyVersion: decision.policyVersion, partition }
    for (const write of writers) write(headers, decision.limits, context)
  }
}

/** Two drafts use the same field names for different values, so a client could not tell which is meant. */
function refuseClash(chosen: readonly HeaderVersion[]): void {
  for (const family of ['draft-', 'x-ratelimit']) {
    if (chosen.filter((each) => each.startsWith(family)).length > 1) {
      throw invalidOption('headers', chosen.join(' + '), 'their fields have the same names; choose one of each kind')
    }
  }
}
