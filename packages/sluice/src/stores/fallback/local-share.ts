import type { Limit } from '../../core/algorithms/limit.ts'
import { limitSet } from '../../core/engine/any-limit-set.ts'
import type { Charge } from '../../core/engine/ask.ts'
import { changeCharge } from '../../core/engine/charge.ts'
import type { LimitSet } from '../../core/engine/limit-set.ts'

const shares = new WeakMap<LimitSet, Map<number, LimitSet>>()

/**
 * A charge against one replica's share of the limits: the N-th part, rounded up, so N replicas exceed them by less than
 * N units.
 */
export function limitsPerReplica(charge: Charge, replicas: number): Charge {
  if (replicas <= 1) return charge
  let bySize = shares.get(charge.limits)
  if (bySize === undefined) {
    bySize = new Map()
    shares.set(charge.limits, bySize)
  }
  let limits = bySize.get(replicas)
  if (limits === undefined) {
    const { block } = charge.limits
    const ofBlock = block && { ...block, after: Math.ceil(block.after / replicas) }
    limits = limitSet(
      charge.limits.limits.map((limit) => shareOfLimit(limit, replicas)),
      undefined,
      ofBlock,
    )
    bySize.set(replicas, limits)
  }
  return changeCharge(charge, { limits })
}

function shareOfLimit(limit: Limit, replicas: number): Limit {
  return {
    ...limit,
    amount: Math.ceil(limit.amount / replicas),
    burst: Math.ceil(limit.burst / replicas),
    intervalUs: limit.intervalUs * replicas,
    pace: limit.pace && { ...limit.pace, interval: limit.pace.interval * replicas },
    // Rounded down: the shares together are never more than the limit.
    share: limit.share && { ...limit.share, guaranteed: Math.floor(limit.share.guaranteed / replicas) },
  }
}
