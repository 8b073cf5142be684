import { readFileSync } from 'node:fs'
import { wrongOption } from './option-error.ts'
import { type PolicyPlace, parsePolicyPlace } from './policy-place.ts'
import { parseRedisUrl, type RedisTarget } from './redis-target.ts'

/** Everything the daemon needs to know to start. */
export interface ServerConfig {
  readonly host: string
  readonly port: number
  /** Whether the port was asked for. If it was not and is taken, any free one will do. */
  readonly portGiven: boolean
  readonly grpcHost: string
  /** Undefined: no Envoy rate-limit service. */
  readonly grpcPort: number | undefined
  /** Undefined: counters live in the daemon. */
  readonly redis: RedisTarget | undefined
  readonly redisPrefix: string
  readonly policy: PolicyPlace
  readonly adminToken: string | undefined
  readonly trustedProxies: readonly string[]
  readonly deadlineMs: number
  readonly logLevel: LogLevel
  /** Check the configuration and the policy, and do not listen. */
  readonly validateOnly: boolean
  /** Where tiers are looked up. */
  readonly env: Environment
}

export type Environment = Readonly<Record<string, string | undefined>>
export type LogLevel = (typeof logLevels)[number]

/** Options as the command line has them: `{ port: '8080', 'grpc-port': '8081', validate: true }`. */
export type Flags = Readonly<Record<string, string | boolean | number | readonly string[] | undefined>>

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** The options of the daemon with the variables that say the same; of several, the first one that is set counts. */
export const configOptions: Readonly<Record<string, { readonly env: readonly string[]; readonly default?: string }>> =
  Object.freeze({
    host: { env: ['SLUICE_HOST'], default: '127.0.0.1' },
    port: { env: ['SLUICE_PORT', 'PORT'], default: '8440' },
    'grpc-host': { env: ['SLUICE_GRPC_HOST'] },
    'grpc-port': { env: ['SLUICE_GRPC_PORT'] },
    redis: { env: ['SLUICE_REDIS', 'SLUICE_REDIS_URL', 'REDIS_URL'] },
    'redis-prefix': { env: ['SLUICE_REDIS_PREFIX'], default: 'sluice:' },
    policy: { env: ['SLUICE_POLICY', 'SLUICE_POLICY_URL'] },
    service: { env: ['SLUICE_SERVICE'] },
    'admin-token-file': { env: ['SLUICE_ADMIN_TOKEN_FILE'] },
    'trusted-proxies': { env: ['SLUICE_TRUSTED_PROXIES'], default: '127.0.0.0/8,::1/128' },
    deadline: { env: ['SLUICE_DEADLINE_MS'], default: '500' },
    'log-level': { env: ['SLUICE_LOG_LEVEL'], default: 'info' },
    validate: { env: [] },
  })

/**
 * Works out the configuration from flags and the environment. A wrong option fails, naming what would be right.
 *
 * @example resolveConfig({ port: '8080', policy: 'sluice.yaml' }, process.env)
 */
export function resolveConfig(flags: Flags = {}, env: Environment = process.env): ServerConfig {
  for (const name of Object.keys(flags)) {
    if (!(name in configOptions))
      throw wrongOption(
        `--${name}`,
        flags[name],
        `there is no such option; known are ${Object.keys(configOptions).join(', ')}`,
      )
  }
  const host = text('host', flags, env).value!
  const port = text('port', flags, env)
  const grpcPort = text('grpc-port', flags, env)
  const redis = text('redis', flags, env)
  const level = text('log-level', flags, env)
  const deadline = text('deadline', flags, env)
  return {
    host,
    port: portOf(port),
    portGiven: port.from !== undefined,
    grpcHost: text('grpc-host', flags, env).value ?? host,
    grpcPort: grpcPort.value === undefined ? undefined : portOf(grpcPort),
    redis: redis.value === undefined ? undefined : parseRedisUrl(redis.value, redis.from!),
    redisPrefix: text('redis-prefix', flags, env).value!,
    policy: policyOf(flags, env),
    adminToken: adminTokenOf(flags, env),
    trustedProxies: text('trusted-proxies', flags, env)
      .value!.split(',')
      .map((block) => block.trim())
      .filter(Boolean),
    deadlineMs: whole(deadline, 1, 60_000, 'a number of milliseconds from 1 to 60000'),
    logLevel: logLevelOf(level),
    validateOnly: flags.validate === true || flags.validate === 'true',
    env,
  }
}

interface Given {
  readonly value: string | undefined
  /** The flag or the variable; undefined for a default. */
  readonly from: string | undefined
}

function text(name: string, flags: Flags, env: Environment): Given {
  const { env: variables, default: otherwise } = configOptions[name]!
  const flag = flags[name]
  if (flag !== undefined) {
    if (typeof flag === 'boolean') throw wrongOption(`--${name}`, flag, 'give it a value')
    return { value: String(flag), from: `--${name}` }
  }
  // An empty variable is as good as none: that is how composed environments leave things out.
  const variable = variables.find((each) => env[each] !== undefined && env[each] !== '')
  return variable === undefined ? { value: otherwise, from: undefined } : { value: env[variable], from: variable }
}

function whole({ value, from }: Given, least: number, most: number, wanted: string): number {
  const number = /^\d{1,9}$/.test(value ?? '') ? Number(value) : Number.NaN
  if (number >= least && number <= most) return number
  throw wrongOption(from ?? 'an option', value, `use ${wanted}`)
}

function portOf(given: Given): number {
  return whole(given, 0, 65_535, 'a port from 1 to 65535, or 0 for any free one')
}

function logLevelOf({ value, from }: Given): LogLevel {
  const level = logLevels.find((known) => known === value)
  if (level === undefined) throw wrongOption(from ?? '--log-level', value, `use one of ${logLevels.join(', ')}`)
  return level
}

function policyOf(flags: Flags, env: Environment): PolicyPlace {
  const given = text('policy', flags, env)
  const service = text('service', flags, env).value
  if (given.value !== undefined) return parsePolicyPlace(given.value, service, given.from!)
  // A database that everything else uses may well hold no policy; the example is then in force until it does.
  if (env.DATABASE_URL) return { ...parsePolicyPlace(env.DATABASE_URL, service, 'DATABASE_URL'), optional: true }
  return { kind: 'example' }
}

function adminTokenOf(flags: Flags, env: Environment): string | undefined {
  const file = text('admin-token-file', flags, env)
  const token = file.value === undefined ? env.SLUICE_ADMIN_TOKEN : readToken(file)
  if (token === undefined || token === '') return undefined
  if (token.length < 8 || /\s/.test(token)) {
    throw wrongOption(
      file.from ?? 'SLUICE_ADMIN_TOKEN',
      '***',
      'use at least 8 characters without white space, such as from: openssl rand -hex 32',
    )
  }
  return token
}

function readToken({ value, from }: Given): string {
  try {
    return readFileSync(value!, 'utf8').trim()
  } catch (error) {
    throw wrongOption(from!, value, `give a file that can be read: ${(error as Error).message}`)
  }
}
