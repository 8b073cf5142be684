import type { Decision, Limiter } from 'sluice'
import type { CompiledPolicy, LivePolicy } from 'sluice/policy'
import type { DecisionTurns } from '../decision-turns.ts'
import { descriptorView, type Entry } from './descriptor.ts'
import { domainsOf } from './domains.ts'
import { meaningOf } from './no-limit.ts'
import type { OverrideLimiters } from './override-limiters.ts'
import { type DescriptorStatus, judgedBy, statusOf, unlimited, unmatched } from './status.ts'
import { type Unit, unitSeconds } from './units.ts'

type CompiledRule = CompiledPolicy['rules'][number]

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
  /** Whether a request is answered with OK whatever its descriptors are. */
  readonly shadow: boolean
}

/** What is known of a descriptor before anything is spent. */
interface Asked {
  readonly rule: CompiledRule | undefined
  /** Whether there is a limit to ask the store about. */
  readonly counts: boolean
  decide(): Promise<DescriptorStatus>
}

/**
 * Decides on every descriptor of a request, as Envoy's own service does: each by itself, except that one can replace
 * the limits of others, and that those with a quota deny only together.
 */
export async function shouldRateLimit(parts: RateLimitParts, request: RateLimitRequest): Promise<RateLimitResponse> {
  const { domain, descriptors } = request
  if (domain === '') throw new InvalidRequest('rate limit domain must not be empty')
  if (descriptors.length === 0) throw new InvalidRequest('rate limit descriptor list must not be empty')
  if (descriptors.length > maxDescriptors)
    throw new InvalidRequest(`at most ${maxDescriptors} descriptors can be asked about at once`)
  const hits = request.hitsAddend || 1
  const found = await Promise.all(descriptors.map((descriptor) => find(parts, domain, descriptor, hits)))
  const replaced = new Set(found.flatMap(({ rule }) => rule?.envoy?.replaces ?? []))
  const asked = found.map((each) => (each.counts && replaced.has(each.rule?.name ?? '') ? answered(unmatched) : each))
  const statuses = await Promise.all(asked.map(({ decide }) => decide()))
  return { overallCode: !parts.shadow && isOver(asked, statuses) ? 'OVER_LIMIT' : 'OK', statuses }
}

/** Over the limit if a descriptor is; those with a quota only if all of them are. */
function isOver(asked: readonly Asked[], statuses: readonly DescriptorStatus[]): boolean {
  const isQuota = asked.map(({ rule, counts }) => counts && rule?.envoy?.quota === true)
  const over = statuses.map(({ code }) => code === 'OVER_LIMIT')
  return over.some((is, i) => is && !isQuota[i]) || (isQuota.includes(true) && over.every((is, i) => is || !isQuota[i]))
}

function answered(status: DescriptorStatus, rule?: CompiledRule): Asked {
  return { rule, counts: false, decide: async () => status }
}

async function find(parts: RateLimitParts, domain: string, descriptor: Descriptor, hits: number): Promise<Asked> {
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
    if (!domainsOf(policy.document?.parsed).has(domain)) return answered(unmatched)
    return {
      rule: undefined,
      counts: true,
      decide: () => spend((units) => overrides.take(domain, entries, unit as Unit, requestsPerUnit, units), cost),
    }
  }
  const view = descriptorView(domain, entries)
  const winner = policy.current.match(view, Date.now()).rules.find(({ rule }) => rule.forDescriptors)
  if (winner === undefined) return answered(unmatched)
  const { rule } = winner
  const meaning = meaningOf(winner.limits.limits)
  if (meaning !== undefined) return answered(meaning === 'unlimited' ? unlimited : unmatched, rule)
  return {
    rule,
    counts: true,
    decide: () => spend((units) => limiter.check(view, { rule: rule.name, cost: units }), cost),
  }
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
