import type { Decision, Limiter } from 'sluice'
import type { DecisionTurns } from '../decision-turns.ts'
import { descriptorView, type Entry } from './descriptor.ts'
import type { OverrideLimiters } from './override-limiters.ts'
import { type RoutedPolicy, routedTo } from './routed-policy.ts'
import { type DescriptorStatus, statusOf, unlimited, unlimitedName, unmatched, unmatchedName } from './status.ts'
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
  readonly policy: RoutedPolicy
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
  await parts.turns.begin()
  const { entries, limit } = descriptor
  const cost = Math.min(descriptor.hitsAddend?.value ?? hits, maxHits)
  if (limit !== null) {
    const { unit, requestsPerUnit } = limit
    if (!(unit in unitSeconds))
      throw new InvalidRequest(
        `a limit's unit is ${JSON.stringify(unit)}; use one of ${Object.keys(unitSeconds).join(', ')}`,
      )
    return spend((units) => parts.overrides.take(domain, entries, unit as Unit, requestsPerUnit, units), cost)
  }
  const view = descriptorView(domain, entries)
  const winner = parts.policy.route(view)
  const name = winner?.limits.limits[0]?.name
  if (winner === undefined || name === unmatchedName) return unmatched
  if (name === unlimitedName) return unlimited
  const routed = routedTo(winner.rule.name, view)
  return spend((units) => parts.limiter.check(routed, { cost: units }), cost)
}

async function spend(take: (units: number) => Promise<Decision>, cost: number): Promise<DescriptorStatus> {
  const decision = await take(cost)
  if (!decision.allowed && cost > 1) {
    // Envoy's service counts hits that pass the limit, so that it stays used up; a denial here spends nothing by
    // itself.
    const left = Math.min(...decision.limits.map(({ remaining }) => remaining))
    if (left > 0 && left < cost) await take(left)
    return { ...statusOf(decision, false), limitRemaining: 0 }
  }
  return statusOf(decision, cost === 0)
}
