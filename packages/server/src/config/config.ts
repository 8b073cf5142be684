import { existsSync } from 'node:fs'
import { FileBacked } from '../connections/file-backed.ts'
import { wrongOption } from '../connections/option-error.ts'
import type { RedisTarget } from '../connections/redis-target.ts'
import { type PolicyPlace, parsePolicyPlace } from '../policy/place/policy-place.ts'
import { readConfigFile } from './config-file.ts'
import {
  configOptions,
  type ForwardedBy,
  forwardedBys,
  type LogLevel,
  logLevels,
  type WithoutRedis,
} from './daemon-options.ts'
import { dataSourcesOf } from './data-sources-of.ts'
import { type LookupTables, lookupTablesOf } from './lookup-tables-of.ts'
import { type Environment, type Given, type Options, readOptions } from './read-options.ts'
import { followedOf, redisFrom } from './redis-from.ts'
import { type Credentials, credentialsOf } from './secrets/credentials.ts'
import { readTls, type Tls } from './secrets/tls.ts'
import { proxyTokens, readSecret, type Tokens, tokensFrom } from './secrets/tokens.ts'
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
  /** Whether that service lets everything pass and only counts. */
  readonly grpcShadow: boolean
  readonly proxyHost: string
  /** Undefined: no proxy for upstreams. */
  readonly proxyPort: number | undefined
  /** By upstream: headers with the vendor's credentials. */
  readonly proxyCredentials: FileBacked<Credentials>
  /** Who may call the proxy; without any, whoever can connect. */
  readonly proxyTokens: Tokens
  /** Undefined: HTTP, gRPC and the proxy without encryption. */
  readonly tls: FileBacked<Tls> | undefined
  readonly adminHost: string
  /** Where the page, what operators use and metrics are; undefined: beside decisions. */
  readonly adminPort: number | undefined
  /** Undefined: counters live in the daemon. */
  readonly redis: RedisTarget | undefined
  readonly redisPrefix: string
  /** By service: the data sources that should report. Empty: none are watched. */
  readonly dataSources: ReadonlyMap<string, readonly string[]>
  /** By name: tables that say the tier of a key. */
  readonly lookups: LookupTables
  /** What a start does while Redis cannot be used: decide without it, end with an error, or wait and not be ready. */
  readonly withoutRedis: WithoutRedis
  readonly policy: PolicyPlace
  /** Undefined: one is generated, and left where the command line of the same user finds it. */
  readonly adminTokens: Tokens | undefined
  /** Who may look at everything and change nothing. */
  readonly readTokens: Tokens | undefined
  /** Undefined: metrics are open to every client that can connect. */
  readonly metricsTokens: Tokens | undefined
  /** Undefined: every client that can connect may ask for decisions. */
  readonly decideTokens: Tokens | undefined
  /** What is read again when its files change. */
  readonly followed: readonly FileBacked<unknown>[]
  readonly trustedProxies: readonly string[]
  /** The header in which trusted proxies name the client. */
  readonly forwardedBy: ForwardedBy
  readonly deadlineMs: number
  /** Where the page leads for figures of more than 15 minutes ago, such as a board of Grafana. */
  readonly historyUrl: string | undefined
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

/** Options as the command line has them: `{ port: '8080', 'grpc-port': '8081', validate: true }`. */
export type Flags = Readonly<Record<string, string | boolean | number | readonly string[] | undefined>>

/** Variables beside those of the table: secrets themselves, and what only other commands read. */
const otherVariables = [
  'SLUICE_PROXY_TOKENS_FILE',
  'SLUICE_ADMIN_TOKEN',
  'SLUICE_DECIDE_TOKEN',
  'SLUICE_READ_TOKEN',
  'SLUICE_METRICS_TOKEN',
  'SLUICE_URL',
  'SLUICE_TIMEOUT',
  'SLUICE_COLLECT_PORT',
  'SLUICE_COLLECT_TOKEN',
  'SLUICE_COLLECT_TOKEN_FILE',
  'SLUICE_WORK_PORT',
  'SLUICE_SHIPPER_DIR',
  'SLUICE_SHIPPER_ENDPOINT',
]
/** Every variable that Sluice reads. */
export const knownVariables: readonly string[] = [
  ...Object.values(configOptions).flatMap(({ env = [] }) => env),
  ...otherVariables,
]

/**
 * Works out the configuration from flags, the environment and a configuration file, in this order. A wrong option
 * fails, naming what would be right.
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
    if (typeof value === 'boolean' && configOptions[name]!.value !== undefined)
      throw wrongOption(`--${name}`, value, 'give it a value')
  }
  const warnings = unknownVariables(env, knownVariables)
  const given = Object.entries(flags).filter(([, value]) => value !== undefined)
  const flagValues = new Map(given.map(([name, value]) => [name, [String(value)]]))
  const options = readOptions(configOptions, flagValues, env, readConfigFile(configOptions, flagValues, env))
  const { read, text, port, whole } = options
  const host = text('host')!
  const redis = redisFrom(options)
  const tls = readTls(options)
  const tokens = (role: string): Tokens | undefined =>
    tokensFrom(read(`${role}-token-file`), `SLUICE_${role.toUpperCase()}_TOKEN`, env, role)
  const secrets = {
    adminTokens: tokens('admin'),
    readTokens: tokens('read'),
    decideTokens: tokens('decide'),
    metricsTokens: tokens('metrics'),
    proxyTokens: proxyTokens(env),
    proxyCredentials: credentialsFrom(options, 'proxy-credentials', env),
    tls,
  }
  return {
    host,
    port: port('port')!,
    portGiven: read('port').from !== undefined,
    grpcHost: text('grpc-host') ?? host,
    grpcPort: port('grpc-port'),
    grpcShadow: options.flag('grpc-shadow'),
    proxyHost: text('proxy-host') ?? host,
    proxyPort: port('proxy-port'),
    adminHost: text('admin-host') ?? host,
    adminPort: port('admin-port'),
    lookups: lookupTablesOf(read('lookup'), env.DATABASE_URL),
    redis,
    redisPrefix: text('redis-prefix')!,
    withoutRedis: withoutRedisOf(options, redis !== undefined),
    dataSources: dataSourcesOf(read('data-sources'), redis !== undefined),
    policy: policyOf(options, env),
    ...secrets,
    followed: [...Object.values(secrets).filter((each) => each !== undefined), ...followedOf(redis)],
    trustedProxies: text('trusted-proxies')!
      .split(',')
      .map((block) => block.trim())
      .filter(Boolean),
    forwardedBy: choice('forwarded-by', read('forwarded-by'), forwardedBys),
    historyUrl: historyUrlOf(read('history-url')),
    deadlineMs: options.duration('deadline', 1, 60_000)!,
    maxBatch: whole('max-batch', 1, 1_000_000)!,
    replicas: whole('replicas', 1, 10_000),
    logLevel: choice('log-level', read('log-level'), logLevels),
    validateOnly: options.flag('validate'),
    env,
    warnings,
  }
}

/** A link for people: whoever may read the page sees it, and a browser opens it. */
function historyUrlOf({ value, from }: Given): string | undefined {
  if (value === undefined) return undefined
  const url = URL.canParse(value) ? new URL(value) : undefined
  const isLink = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  if (!isLink || value.length > 2000)
    throw wrongOption(
      from ?? '--history-url',
      // A password in it stays out of the log.
      value.slice(0, 200).replace(/\/\/[^/]*@/, '//...@'),
      'use an address such as https://grafana.example/d/sluice, with http or https and without a password',
    )
  return url.href
}

function choice<Choice extends string>(name: string, { value, from }: Given, choices: readonly Choice[]): Choice {
  const found = choices.find((known) => known === value)
  if (found === undefined) throw wrongOption(from ?? `--${name}`, value, `use one of ${choices.join(', ')}`)
  return found
}

function withoutRedisOf(options: Options, hasRedis: boolean): WithoutRedis {
  const [name = '', other] = ['wait-for-redis', 'require-redis'].filter((each) => options.flag(each))
  if (name === '') return 'decide'
  const { value, from } = options.read(name)
  if (!hasRedis) throw wrongOption(from!, value, 'name the Redis with --redis')
  if (other !== undefined) throw wrongOption(from!, value, `leave out ${options.read(other).from}, which ends instead`)
  return name === 'wait-for-redis' ? 'wait' : 'end'
}

/** Headers with the vendor's credentials, by upstream. */
export function credentialsFrom(options: Options, name: string, env: Environment): FileBacked<Credentials> {
  const pairs = options
    .many(name)
    .flatMap((each) => each.split(','))
    .map((pair) => pair.trim())
  const files = pairs.flatMap((pair) => /=@(.+)$/.exec(pair)?.[1] ?? [])
  return new FileBacked(files, () => {
    const credentials = credentialsOf(pairs, env)
    if (typeof credentials !== 'string') return credentials
    const { value, from } = options.read(name)
    throw wrongOption(from ?? `--${name}`, value, credentials)
  })
}

function policyOf({ read, text }: Options, env: Environment): PolicyPlace {
  const given = secretOf(read('policy'), read('policy-url-file'), '--policy')
  const service = text('service')
  if (given.value !== undefined) return parsePolicyPlace(given.value, service, given.from!)
  // The file that `sluice init` writes: the other commands read it without being told, so the daemon does too.
  if (existsSync('sluice.yaml')) return { kind: 'file', path: 'sluice.yaml' }
  // DATABASE_URL may name a database without a policy; the example is then in force until there is one. A database of a
  // kind that cannot hold a policy is ignored.
  if (/^(postgres(ql)?|mongodb(\+srv)?):\/\//i.test(env.DATABASE_URL ?? '') && env.DATABASE_URL)
    return { ...parsePolicyPlace(env.DATABASE_URL, service, 'DATABASE_URL'), optional: true }
  return { kind: 'example' }
}

/** A text that may hold a password: as it was given, or from a file. */
function secretOf(given: Given, file: Given, flag: string): Given {
  if (file.value === undefined || given.from === flag) return given
  return { value: readSecret(file.value, file.from!), from: file.from }
}
