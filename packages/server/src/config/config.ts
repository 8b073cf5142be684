import { dataSourcesOf } from './data-sources-of.ts'
import { wrongOption } from './option-error.ts'
import { type PolicyPlace, parsePolicyPlace } from './policy/policy-place.ts'
import { type Environment, type Given, type Options, readOptions } from './read-options.ts'
import { parseRedisUrl, type RedisTarget } from './redis-target.ts'
import { credentialsOf } from './secrets/credentials.ts'
import { readTls, type Tls } from './secrets/tls.ts'
import { tokenFrom } from './secrets/tokens.ts'
import { unknownVariables } from './variables.ts'

/** Everything the daemon needs to know to start. */
export interface ServerConfig {
  readonly host: string
  readonly port: number
  /** Whether the port was asked for. If it was not and is taken, any free one will do. */
  readonly portGiven: boolean
  readonly grpcHost: string
  /** Undefined: no Envoy rate-limit service. */
  readonly grpcPort: number | undefined
  readonly proxyHost: string
  /** Undefined: no proxy for upstreams. */
  readonly proxyPort: number | undefined
  /** By upstream: headers with the vendor's credentials. */
  readonly proxyCredentials: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Undefined: HTTP, gRPC and the proxy without encryption. */
  readonly tls: Tls | undefined
  /** Undefined: counters live in the daemon. */
  readonly redis: RedisTarget | undefined
  readonly redisPrefix: string
  /** By service: the data sources that should report. Empty: none are watched. */
  readonly dataSources: ReadonlyMap<string, readonly string[]>
  /** Refuse to start while Redis cannot be used. */
  readonly requireRedis: boolean
  readonly policy: PolicyPlace
  /** Undefined: one is generated, and left where the command line of the same user finds it. */
  readonly adminToken: string | undefined
  /** Undefined: every client that can connect may ask for decisions. */
  readonly decideToken: string | undefined
  readonly trustedProxies: readonly string[]
  /** The header in which trusted proxies name the client. */
  readonly forwardedBy: ForwardedBy
  readonly deadlineMs: number
  /** Most charges of one batch: its checks times the rules that match each of them. */
  readonly maxBatch: number
  /** How many daemons share limits while Redis is away, where a policy says `local`; counted when undefined. */
  readonly replicas: number | undefined
  readonly logLevel: LogLevel
  /** Check the configuration and the policy, and do not listen. */
  readonly validateOnly: boolean
  /** Where tiers are looked up. */
  readonly env: Environment
  /** What was found odd about the configuration, to be logged at the start. */
  readonly warnings: readonly string[]
}

export type ForwardedBy = (typeof forwardedBys)[number]
export type LogLevel = (typeof logLevels)[number]

/** Options as the command line has them: `{ port: '8080', 'grpc-port': '8081', validate: true }`. */
export type Flags = Readonly<Record<string, string | boolean | number | readonly string[] | undefined>>

const forwardedBys = ['either', 'forwarded', 'x-forwarded-for'] as const
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** The options of the daemon with the variables that say the same; of several, the first one that is set counts. */
export const configOptions: Readonly<Record<string, { readonly env: readonly string[]; readonly default?: string }>> =
  Object.freeze({
    host: { env: ['SLUICE_HOST'], default: '127.0.0.1' },
    port: { env: ['SLUICE_PORT', 'PORT'], default: '8440' },
    'grpc-host': { env: ['SLUICE_GRPC_HOST'] },
    'grpc-port': { env: ['SLUICE_GRPC_PORT'] },
    'proxy-host': { env: ['SLUICE_PROXY_HOST'] },
    'proxy-port': { env: ['SLUICE_PROXY_PORT'] },
    'proxy-credentials': { env: ['SLUICE_PROXY_CREDENTIALS'] },
    'tls-cert': { env: ['SLUICE_TLS_CERT'] },
    'tls-key': { env: ['SLUICE_TLS_KEY'] },
    'tls-client-ca': { env: ['SLUICE_TLS_CLIENT_CA'] },
    redis: { env: ['SLUICE_REDIS', 'SLUICE_REDIS_URL', 'REDIS_URL'] },
    'redis-prefix': { env: ['SLUICE_REDIS_PREFIX'], default: 'sluice:' },
    'require-redis': { env: ['SLUICE_REQUIRE_REDIS'] },
    'data-sources': { env: ['SLUICE_DATA_SOURCES'] },
    policy: { env: ['SLUICE_POLICY', 'SLUICE_POLICY_URL'] },
    service: { env: ['SLUICE_SERVICE'] },
    'admin-token-file': { env: ['SLUICE_ADMIN_TOKEN_FILE'] },
    'decide-token-file': { env: ['SLUICE_DECIDE_TOKEN_FILE'] },
    'trusted-proxies': { env: ['SLUICE_TRUSTED_PROXIES'], default: '127.0.0.0/8,::1/128' },
    'forwarded-by': { env: ['SLUICE_FORWARDED_BY'], default: 'either' },
    deadline: { env: ['SLUICE_DEADLINE'], default: '500ms' },
    'max-batch': { env: ['SLUICE_MAX_BATCH'], default: '50000' },
    replicas: { env: ['SLUICE_REPLICAS'] },
    'log-level': { env: ['SLUICE_LOG_LEVEL'], default: 'info' },
    validate: { env: [] },
  })

/** Options without a value. */
export const switches: readonly string[] = ['validate', 'require-redis']

/** Variables beside those of the table: secrets themselves, and what only other commands read. */
const otherVariables = [
  'SLUICE_ADMIN_TOKEN',
  'SLUICE_DECIDE_TOKEN',
  'SLUICE_URL',
  'SLUICE_TIMEOUT',
  'SLUICE_COLLECT_PORT',
  'SLUICE_COLLECT_TOKEN',
  'SLUICE_SHIPPER_DIR',
  'SLUICE_SHIPPER_ENDPOINT',
]
/** Every variable that Sluice reads. */
export const knownVariables: readonly string[] = [
  ...Object.values(configOptions).flatMap(({ env }) => env),
  ...otherVariables,
]

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
  for (const [name, value] of Object.entries(flags)) {
    if (typeof value === 'boolean' && !switches.includes(name)) throw wrongOption(`--${name}`, value, 'give it a value')
  }
  const warnings = unknownVariables(env, knownVariables)
  const given = Object.entries(flags).filter(([, value]) => value !== undefined)
  const options = readOptions(configOptions, new Map(given.map(([name, value]) => [name, [String(value)]])), env)
  const { read, text, port, whole } = options
  const host = text('host')!
  const redis = read('redis')
  return {
    host,
    port: port('port')!,
    portGiven: read('port').from !== undefined,
    grpcHost: text('grpc-host') ?? host,
    grpcPort: port('grpc-port'),
    proxyHost: text('proxy-host') ?? host,
    proxyPort: port('proxy-port'),
    proxyCredentials: credentialsFrom(options, 'proxy-credentials', env),
    tls: readTls(read('tls-cert'), read('tls-key'), read('tls-client-ca')),
    redis: redis.value === undefined ? undefined : parseRedisUrl(redis.value, redis.from!),
    redisPrefix: text('redis-prefix')!,
    requireRedis: requiresRedis(options),
    dataSources: dataSourcesOf(read('data-sources'), redis.value),
    policy: policyOf(options, env),
    adminToken: tokenFrom(read('admin-token-file'), 'SLUICE_ADMIN_TOKEN', env),
    decideToken: tokenFrom(read('decide-token-file'), 'SLUICE_DECIDE_TOKEN', env),
    trustedProxies: text('trusted-proxies')!
      .split(',')
      .map((block) => block.trim())
      .filter(Boolean),
    forwardedBy: choice('forwarded-by', read('forwarded-by'), forwardedBys),
    deadlineMs: options.duration('deadline', 1, 60_000)!,
    maxBatch: whole('max-batch', 1, 1_000_000)!,
    replicas: whole('replicas', 1, 10_000),
    logLevel: choice('log-level', read('log-level'), logLevels),
    validateOnly: options.flag('validate'),
    env,
    warnings,
  }
}

function choice<Choice extends string>(name: string, { value, from }: Given, choices: readonly Choice[]): Choice {
  const found = choices.find((known) => known === value)
  if (found === undefined) throw wrongOption(from ?? `--${name}`, value, `use one of ${choices.join(', ')}`)
  return found
}

function requiresRedis(options: Options): boolean {
  const isOn = options.flag('require-redis')
  const { value, from } = options.read('require-redis')
  if (isOn && options.text('redis') === undefined)
    throw wrongOption(from ?? '--require-redis', value, 'name the Redis with --redis')
  return isOn
}

/** Headers with the vendor's credentials, by upstream. */
export function credentialsFrom(options: Options, name: string, env: Environment): ServerConfig['proxyCredentials'] {
  const pairs = options
    .many(name)
    .flatMap((each) => each.split(','))
    .map((pair) => pair.trim())
  const credentials = credentialsOf(pairs, env)
  if (typeof credentials !== 'string') return credentials
  const { value, from } = options.read(name)
  throw wrongOption(from ?? `--${name}`, value, credentials)
}

function policyOf({ read, text }: Options, env: Environment): PolicyPlace {
  const given = read('policy')
  const service = text('service')
  if (given.value !== undefined) return parsePolicyPlace(given.value, service, given.from!)
  // DATABASE_URL may name a database without a policy; the example is then in force until there is one. A database of a
  // kind that cannot hold a policy is ignored.
  if (/^(postgres(ql)?|mongodb(\+srv)?):\/\//i.test(env.DATABASE_URL ?? '') && env.DATABASE_URL)
    return { ...parsePolicyPlace(env.DATABASE_URL, service, 'DATABASE_URL'), optional: true }
  return { kind: 'example' }
}
