/** Environment variables, as the process has them. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Tiers by id, and the default tier. */
export interface EnvironmentTiers {
  of(id: string): string | undefined
  readonly otherwise: string | undefined
}

/**
 * Reads tiers from the environment: `RATE_LIMIT_TIER=standard` for everybody, `RATE_LIMIT_TIER_ACME_CORP=enterprise`
 * for `acme-corp`. An id is upper-cased and its hyphens become underscores. Read once, when the policy is compiled.
 */
export function environmentTiers(
  prefix: string | true,
  env: Environment,
  known: (name: string, path: string) => string | undefined,
): EnvironmentTiers {
  const base = prefix === true ? 'RATE_LIMIT_TIER' : prefix
  const byId = new Map<string, string>()
  for (const variable of Object.keys(env)) {
    const value = env[variable]
    if (!variable.startsWith(`${base}_`) || !value) continue
    const name = known(value.trim(), `env.${variable}`)
    if (name !== undefined) byId.set(variable.slice(base.length + 1), name)
  }
  const everybody = Object.hasOwn(env, base) ? env[base] : undefined
  return {
    of: (id) => byId.get(id.toUpperCase().replaceAll('-', '_')),
    otherwise: everybody ? known(everybody.trim(), `env.${base}`) : undefined,
  }
}
