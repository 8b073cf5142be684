import type { Decision, LimitStatus } from 'sluice'
import { type Unit, unitOf } from './units.ts'

/** The largest number that fits the protocol: what Envoy's service says is left of something without a limit. */
const maxUint32 = 2 ** 32 - 1

/** The status of one descriptor, as the protocol has it. */
export interface DescriptorStatus {
  readonly code: 'OK' | 'OVER_LIMIT'
  readonly currentLimit?: { readonly requestsPerUnit: number; readonly unit: Unit | 'UNKNOWN'; readonly name: string }
  readonly limitRemaining?: number
  readonly durationUntilReset?: { readonly seconds: number; readonly nanos: number }
}

/** What limits without a name of their own are called, such as `per-1h`. */
const madeUpName = /^per-(?:(?:\d+[a-z]+)+|day|week|month)$/

export const unmatched: DescriptorStatus = Object.freeze({ code: 'OK' })
export const unlimited: DescriptorStatus = Object.freeze({ code: 'OK', limitRemaining: maxUint32 })

/** What a decision means to Envoy. A rule in shadow mode shows its figures and always says OK. */
export function statusOf(decision: Decision, peeked: boolean): DescriptorStatus {
  const { limits } = judgedBy(decision)
  const isShadow = decision.limits.length === 0 && decision.shadow.length > 0
  const usedUp = peeked && limits.some(({ remaining }) => remaining <= 0)
  const code = !isShadow && (!decision.allowed || usedUp) ? 'OVER_LIMIT' : 'OK'
  const tightest = tightestOf(limits)
  if (tightest === undefined) return { code }
  const ms = untilReset(tightest)
  return {
    code,
    currentLimit: {
      requestsPerUnit: Math.min(tightest.amount, maxUint32),
      unit: unitOf(tightest.windowMs),
      name: madeUpName.test(tightest.name) ? '' : tightest.name,
    },
    limitRemaining: Math.min(tightest.remaining, maxUint32),
    durationUntilReset: { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1_000_000 },
  }
}

/** The rule that counts: one in shadow mode is judged like any other, and only its denial does not hold. */
export function judgedBy(decision: Decision): Pick<Decision, 'allowed' | 'limits'> {
  return decision.limits.length > 0 ? decision : (decision.shadow[0] ?? decision)
}

/** The limit that denies for longest, else the one with the least left. */
function tightestOf(limits: readonly LimitStatus[]): LimitStatus | undefined {
  return limits.reduce<LimitStatus | undefined>((worst, limit) => {
    if (worst === undefined || limit.retryAfterMs > worst.retryAfterMs) return limit
    return worst.retryAfterMs === 0 && limit.remaining < worst.remaining ? limit : worst
  }, undefined)
}

/** A window of which nothing is spent ends, too: at the next multiple of its period. */
function untilReset({ resetMs, windowMs }: LimitStatus): number {
  return resetMs > 0 || windowMs === 0 ? resetMs : windowMs - (Date.now() % windowMs)
}
