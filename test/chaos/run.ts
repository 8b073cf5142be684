import { createLimiter } from '../../packages/sluice/src/limiter/create-limiter.ts'
import type { Limiter } from '../../packages/sluice/src/limiter/limiter.ts'
import type { LimiterOptions } from '../../packages/sluice/src/limiter/limiter-options.ts'
import type { RedisClient } from '../../packages/sluice/src/redis/client.ts'
import { openRedis } from '../../packages/sluice/src/stores/redis/open-redis.ts'
import { waitFor } from '../../packages/sluice/src/testing/wait-for.ts'
import { audit } from './audit.ts'
import { patientStore } from './clients.ts'
import { Load } from './load.ts'
import { chaosPolicy } from './policy.ts'
import { type Context, graceMs, type Row } from './scenario.ts'

export const deadlineMs = 500

export interface Trial {
  readonly fault: string
  /** Connects through the proxy or server that will fail. */
  readonly client: () => RedisClient
  /** Connects past it, to read the counters afterwards. */
  readonly auditor: () => RedisClient
  /** Injects the fault under load, and ends with everything working again. */
  readonly inject: (load: Load, limiter: Limiter, service: string) => Promise<string | undefined>
  /** Replies get lost, or servers: a charge may then be made without an answer to the caller. */
  readonly mayLoseReplies?: boolean
  /** Asynchronous replication may lose the last writes. */
  readonly mayLoseWrites?: boolean
  readonly isKept?: (subject: string) => boolean
  /** The server's clock cannot show when something was charged. */
  readonly clockLeaps?: boolean
  readonly options?: Partial<LimiterOptions>
  /** How many callers run without pause; 0 leaves the load to `inject`. */
  readonly workers?: number
}

let services = 0

/** Runs load through a fault and judges the result. */
export async function runTrial(trial: Trial, context: Context): Promise<Row> {
  const service = `chaos-${process.pid}-${services++}`
  const limiter = await createLimiter({
    policy: chaosPolicy(service),
    redis: openRedis(trial.client()),
    denyCache: false,
    deadline: deadlineMs,
    ...trial.options,
  })
  const load = new Load(limiter, { deadlineMs, ...(trial.workers === undefined ? {} : { workers: trial.workers }) })
  let note: string | undefined
  try {
    await exact(limiter)
    load.start()
    note = await trial.inject(load, limiter, service)
    await exact(limiter)
  } finally {
    await load.stop()
    await limiter.close()
  }
  const auditor = patientStore(trial.auditor())
  try {
    const found = await audit(load, service, auditor, trial)
    const wrong: string[] = []
    if (context.judgeTime && load.worstOverMs > graceMs) wrong.push('late')
    if (found.overAdmitted > 0) wrong.push('over-admitted')
    if (found.uncharged > 0 && !trial.mayLoseWrites) wrong.push('admitted without a charge')
    if (found.underAdmitted > 0 && !trial.mayLoseReplies) wrong.push('under-admitted')
    if (found.phantom > 0) wrong.push('phantom charges')
    if (load.unsettled > 0) wrong.push('unsettled')
    const kinds = [...load.failures].map(([kind, count]) => `${kind} ${count}`).join(', ')
    const lost = found.uncharged > 0 ? `, ${found.uncharged} writes lost with a server` : ''
    return {
      fault: trial.fault,
      decisions: load.decisions,
      worstOverMs: load.worstOverMs,
      overAdmitted: found.overAdmitted,
      underAdmitted: found.underAdmitted,
      phantom: found.phantom,
      unsettled: load.unsettled,
      note: [note, kinds && `degraded: ${kinds}`].filter(Boolean).join('; ') + lost,
      wrong,
    }
  } finally {
    await auditor.close()
  }
}

/** Waits until decisions are exact. */
export async function exact(limiter: Limiter): Promise<void> {
  await waitFor(async () => !(await limiter.take('warm-up', { rule: 'shared' })).degraded, {
    describe: 'exact decisions',
    timeoutMs: 60_000,
  })
}
