import { policyWarnings } from 'sluice/policy'
import type { ServerConfig } from './config/config.ts'
import { openLimiter } from './open-limiter.ts'
import { closeAll, type Opened } from './opened.ts'

/** What a configuration amounts to, found out without listening. */
export interface Validated {
  readonly service: string
  readonly version: string
  readonly rules: readonly string[]
  readonly policySource: string
  readonly store: string
  readonly warnings: readonly string[]
}

/** Loads the policy and looks at the store, and leaves it at that: `sluice serve --validate`. */
export async function validate(config: ServerConfig): Promise<Validated> {
  const opened: Opened = []
  try {
    const { limiter, policy } = await openLimiter(config, opened)
    const health = await limiter.health()
    const ofPolicy = policyWarnings(policy.current, Date.now())
    const warnings = [...config.warnings, ...health.warnings, ...ofPolicy]
    const { service, rules, status } = limiter.policy
    return { service, version: status.version, rules, policySource: status.source, store: health.store.name, warnings }
  } finally {
    await closeAll(opened)
  }
}
