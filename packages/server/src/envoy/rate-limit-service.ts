import type { Decision, Limiter } from 'sluice'
import type { LivePolicy } from 'sluice/policy'
import type { DecisionTurns } from '../decision-turns.ts'
import { descriptorView, type Entry } from './descriptor.ts'
import { domainsOf } from './domains.ts'
import { meaningOf } from './no-limit.ts'
import type { OverrideLimiters } from './override-limiters.ts'
import { type DescriptorStatus, judgedBy, statusOf, unlimited, unmatched } from './status.ts'
import { type Unit, unitSeconds } from './units.ts'

/** `RateLimitRequest`, as proto-loader hands it over. */
export interface RateLimitRequest {
  readonly domain: string
  readonly descriptors: readonly Descriptor[]
  readonly hitsAddend: number
}

export interface Descriptor {
  readonly entries: readonly Entry[]
  readonly limit: { readonly requestsPerUnit: number; readonly unit: string } | null
  readonly hitsAddend: { readonly value: number } | null
}

export interface RateLimitResponse {
  readonly overallCode: 'OK' | 'OVER_LIMIT'
  readonly statuses: readonly DescriptorStatus[]
}

/** A request that makes no sense; answered with INVALID_ARGUMENT. */
export class InvalidRequest extends Error {
  override readonly name = 'InvalidRequest'
}

const maxDescriptors = 256
/**
 * The largest cost that a limiter accepts. More hits than that are counted as so many, which no limit has room for:
 * with an error, Envoy would let the request pass.
 */
const maxHits = 1e13

export interface RateLimitParts {
  readonly limiter: Limiter
  /** That of the limiter. */
  readonly policy: LivePolicy
  readonly overrides: OverrideLimiters
  readonly turns: DecisionTurns
}

/** Decides on every descriptor of a request by itself, as Envoy's own service does. */
export async function shouldRateLimit(parts: RateLimitParts, request: RateLimitRequest): Promise<RateLimitResponse> {
  const { domain, descriptors } = request
  if (domain === '') throw new InvalidRequest('rate limit domain must not be empty')
  if (descriptors.length === 0) throw new InvalidRequest('rate limit descriptor list must not be empty')
  if (descriptors.length > maxDescriptors)
    throw new InvalidRequest(`at most ${maxDescriptors} descriptors can be asked about at once`)
  const hits = request.hitsAddend || 1
  const statuses = await Promise.all(descriptors.map((descriptor) => decide(parts, domain, descriptor, hits)))
  return { overallCode: statuses.some(({ code }) => code === 'OVER_LIMIT') ? 'OVER_LIMIT' : 'OK', statuses }
}

async function decide(
  parts: RateLimitParts,
  domain: string,
  descriptor: Descriptor,
  hits: number,
): Promise<DescriptorStatus> {
  const { limiter, policy, overrides, turns } = parts
  await turns.begin()
  const { entries, limit } = descriptor
  const cost = Math.min(descriptor.hitsAddend?.value ?? hits, maxHits)
  if (limit !== null) {
    const { unit, requestsPerUnit } = limit
    if (!(unit in unitSeconds))
      throw new InvalidRequest(
        `a limit's unit is ${JSON.stringify(unit)}; use one of ${Object.keys(unitSeconds).join(', ')}`,
      )
    // As in Envoy's service, a domain that is not configured has no limits, whatever its descriptors bring along.
    if (!domainsOf(policy.document?.parsed).has(domain)) return unmatched
    return spend((units) => overrides.take(domain, entries, unit as Unit, requestsPerUnit, units), cost)
  }
  const view = descriptorView(domain, entries)
  const winner = policy.current.match(view, Date.now()).rules.find(({ rule }) => rule.forDescriptors)
  if (winner === undefined) return unmatched
  const meaning = meaningOf(winner.limits.limits)
  if (meaning !== undefined) return meaning === 'unlimited' ? unlimited : unmatched
  const rule = winner.rule.name
  return spend((units) => limiter.check(view, { rule, cost: units }), cost)
}

async function spend(take: (units: number) => Promise<Decision>, cost: number): Promise<DescriptorStatus> {
  const decision = await take(cost)
  const judged = judgedBy(decision)
  if (!judged.allowed && cost > 1) {
    // Envoy's service counts hits that pass the limit, so that it stays used up; a denial here spends nothing by
    // itself.
    const left = Math.min(...judged.limits.map(({ remaining }) => remaining))
    if (left > 0 && left < cost) await take(left)
    return { ...statusOf(decision, false), limitRemaining: 0 }
  }
  return statusOf(decision, cost === 0)
}
