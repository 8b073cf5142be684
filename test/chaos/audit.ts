import type { Charge } from '../../packages/sluice/src/core/engine/ask.ts'
import { encodeKey } from '../../packages/sluice/src/core/key.ts'
import { compilePolicy } from '../../packages/sluice/src/policy/compile/compile-policy.ts'
import type { Store } from '../../packages/sluice/src/stores/store.ts'
import { waitFor } from '../../packages/sluice/src/testing/wait-for.ts'
import type { Load } from './load.ts'
import { chaosPolicy, periodMs, sharedAmount } from './policy.ts'
import type { Trial } from './run.ts'

/** What the counters in Redis show about a load. */
export interface Audit {
  /** Admitted beyond the limit of a shared subject. */
  readonly overAdmitted: number
  /** Admitted, but not in the counters: lost with a server. */
  readonly uncharged: number
  /** Charged in time, but the caller did not receive the answer. */
  readonly underAdmitted: number
  /** Charged twice, or after the deadline. */
  readonly phantom: number
}

/** Windows start on whole milliseconds, and so do deadlines. */
const roundingMs = 2

/** Reads the counter of every subject of a load. Subjects of servers that lost everything are left out. */
export async function audit(
  load: Load,
  service: string,
  store: Store,
  { isKept = () => true, clockLeaps = false }: Pick<Trial, 'isKept' | 'clockLeaps'> = {},
): Promise<Audit> {
  const policy = compilePolicy(chaosPolicy(service), { env: {} })
  const chargeOf = (ruleName: string, key: string): Charge => {
    const rule = policy.rule(ruleName)!
    const subject = encodeKey(key)
    return { rule, subject, limits: rule.limitsFor(subject, undefined, Date.now()), cost: 1 }
  }
  const read = async (rule: string, key: string): Promise<{ charged: number; atMs: number }> => {
    const answer = await store.decide({ kind: 'peek', charges: [chargeOf(rule, key)] }, 20_000)
    const { amount, remaining, resetMs } = answer.statuses[0]![0]!
    return { charged: amount - remaining, atMs: answer.nowUs / 1000 + resetMs - periodMs }
  }
  await waitFor(() => read('once', 'warm-up'), { describe: 'the counters to be readable' })

  const sum = { overAdmitted: 0, uncharged: 0, underAdmitted: 0, phantom: 0 }
  const kept = load.once.filter(({ subject }) => isKept(subject))
  for (let from = 0; from < kept.length; from += 500) {
    await Promise.all(
      kept.slice(from, from + 500).map(async ({ subject, outcome, deadlineMs }) => {
        const { charged, atMs } = await read('once', subject)
        const fair = outcome === 'admitted' ? 1 : 0
        if (charged < fair) sum.uncharged += 1
        if (charged > 1) sum.phantom += charged - 1
        if (charged > fair) {
          if (!clockLeaps && atMs > deadlineMs + roundingMs) sum.phantom += 1
          else sum.underAdmitted += 1
        }
      }),
    )
  }
  for (const [subject, admitted] of load.shared) {
    sum.overAdmitted += Math.max(0, admitted - sharedAmount)
    if (isKept(subject)) {
      const { charged } = await read('shared', subject)
      sum.underAdmitted += Math.max(0, charged - admitted)
      sum.uncharged += Math.max(0, admitted - charged)
    }
  }
  return sum
}
