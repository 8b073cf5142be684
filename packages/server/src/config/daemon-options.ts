import type { OptionTable } from './read-options.ts'

export type WithoutRedis = 'decide' | 'end' | 'wait'
export type ForwardedBy = (typeof forwardedBys)[number]
export type LogLevel = (typeof logLevels)[number]

export const forwardedBys = ['either', 'forwarded', 'x-forwarded-for'] as const
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** Options, each also as the variable of its name, `SLUICE_REDIS_CA` for `redis-ca`, and those that it has besides. */
function alsoVariables(options: OptionTable): OptionTable {
  const named = Object.entries(options).map(([name, option]) => {
    const own = `SLUICE_${name.toUpperCase().replaceAll('-', '_')}`
    return [name, { ...option, env: [own, ...(option.env ?? [])] }]
  })
  return Object.freeze(Object.fromEntries(named))
}

/** How Redis is reached where its URL is not enough. */
export const redisOptions: OptionTable = alsoVariables({
  'redis-file': {
    value: 'FILE',
    env: ['SLUICE_REDIS_URL_FILE', 'REDIS_URL_FILE'],
    about: 'a file with the URL of Redis; a new user or password in it counts from the next connection on',
  },
  'redis-ca': { value: 'FILE', about: 'the authority that signed the certificate of Redis, PEM' },
  'redis-cert': { value: 'FILE', about: 'a certificate to show to Redis, PEM' },
  'redis-key': { value: 'FILE', about: 'the private key of that certificate, PEM' },
})

/** Where counters live and what is enforced. */
export const storeOptions: OptionTable = {
  ...alsoVariables({
    redis: {
      value: 'URL',
      env: ['SLUICE_REDIS_URL', 'REDIS_URL'],
      about: 'the Redis with the counters: redis://, rediss://, redis+sentinel://h1,h2/master, redis+cluster://h1,h2',
    },
  }),
  ...redisOptions,
  ...alsoVariables({
    policy: {
      value: 'SOURCE',
      env: ['SLUICE_POLICY_URL'],
      about: 'the policy: a file, mongodb://, postgres:// or redis://',
    },
  }),
}

const { redis, policy } = storeOptions

/** The options of the daemon, with the variables that say the same. */
export const configOptions: OptionTable = Object.freeze({
  ...alsoVariables({
    host: { value: 'ADDRESS', about: 'where to listen; 0.0.0.0 for every interface', default: '127.0.0.1' },
    port: {
      value: 'PORT',
      short: 'p',
      env: ['PORT'],
      about: 'the port of the HTTP API and the page; on a terminal any free one if the default is taken',
      default: '8440',
    },
    'grpc-host': { value: 'ADDRESS', about: 'where the Envoy rate-limit service listens', unset: 'as --host' },
    'grpc-port': { value: 'PORT', about: 'the port of the Envoy rate-limit service', unset: 'it is off' },
    'grpc-shadow': { about: 'let it answer OK whatever is over its limit, and count all the same' },
    'admin-host': { value: 'ADDRESS', about: 'where the listener of operators is', unset: 'as --host' },
    'admin-port': {
      value: 'PORT',
      about: 'a port of its own for the page, what operators use and metrics; decisions stay on --port',
      unset: 'they are on --port',
    },
    'proxy-host': { value: 'ADDRESS', about: 'where the proxy for upstreams listens', unset: 'as --host' },
    'proxy-port': {
      value: 'PORT',
      about: "the port of a proxy that holds the limits of the policy's upstreams, as sluice proxy does",
      unset: 'it is off',
    },
    'proxy-credentials': {
      value: 'UPSTREAM:HEADER=VARIABLE',
      about:
        'headers that the proxy adds, with the values of environment variables or, with =@FILE, of files; with commas between',
    },
    'tls-cert': {
      value: 'FILE',
      about: 'the certificate chain, PEM; listeners then speak TLS only. It is read again when the file changes',
    },
    'tls-key': { value: 'FILE', about: 'the private key of the certificate, PEM' },
    'tls-client-ca': {
      value: 'FILE',
      about: 'clients must show a certificate that this authority has signed, PEM',
    },
  }),
  redis: { ...redis!, about: `${redis!.about}; counters live in memory without it` },
  ...redisOptions,
  ...alsoVariables({
    'redis-prefix': { value: 'TEXT', about: 'the start of every Redis key', default: 'sluice:' },
    'require-redis': { about: 'do not start while Redis cannot be used' },
    'wait-for-redis': { about: 'while Redis cannot be used, wait for it: /ready says no, and nothing is decided' },
    'data-sources': {
      value: 'NAMESPACE/SOURCE',
      about: 'data sources of caches that should report, listed in /ready and /metrics; separated by commas',
      unset: 'none',
    },
    lookup: {
      value: 'NAME=postgres:TABLE',
      about:
        'tables of the database in DATABASE_URL that say the tier of a key (columns key and tier), for rules with tier: { lookup: NAME }; with commas between',
      unset: 'such tiers are not known',
    },
  }),
  policy: {
    ...policy!,
    about: `${policy!.about}; else sluice.yaml in this folder, or the database in DATABASE_URL. Without any of them a built-in example is in force`,
  },
  ...alsoVariables({
    'policy-url-file': { value: 'FILE', about: 'a file with the URL of the policy, where that has a password' },
    service: { value: 'NAME', about: 'whose policy to take from a database that holds several' },
    'admin-token-file': {
      value: 'FILE',
      about:
        'a file with the token of admins, or one "name token" per line; SLUICE_ADMIN_TOKEN holds the token itself. Without one a token is generated, which only commands of the same user find',
    },
    'read-token-file': {
      value: 'FILE',
      about: 'a file with tokens of people who may look and change nothing; SLUICE_READ_TOKEN holds one',
    },
    'decide-token-file': {
      value: 'FILE',
      about: 'a file with tokens that checks, holds and /v1/auth want; SLUICE_DECIDE_TOKEN holds one',
    },
    'metrics-token-file': {
      value: 'FILE',
      about:
        'a file with tokens that /metrics wants; SLUICE_METRICS_TOKEN holds one. Without it everybody may read them',
    },
    'trusted-proxies': {
      value: 'CIDRS',
      about: 'proxies whose word about the address of a client counts, with commas between',
      default: '127.0.0.0/8,::1/128',
    },
    'forwarded-by': {
      value: 'HEADER',
      about: 'the header in which those proxies name the client',
      choices: forwardedBys,
      default: 'either',
    },
    'history-url': {
      value: 'URL',
      about: 'where the page leads for figures of more than 15 minutes ago, such as a board of Grafana',
    },
    deadline: {
      value: 'TIME',
      about: 'within which time every decision is made, whatever the store does',
      default: '500ms',
    },
    'max-batch': {
      value: 'N',
      about: 'most checks times matching rules of one POST /v1/check; more are refused with 413',
      default: '50000',
    },
    replicas: {
      value: 'N',
      about: 'how many daemons share limits while Redis is away, where the policy says local; counted when left out',
    },
    'log-level': { value: 'LEVEL', about: 'how much to log', choices: logLevels, default: 'info' },
    config: { value: 'FILE', about: 'YAML with these options by name; flags and variables come first' },
  }),
  validate: { about: 'check the configuration and the policy, say so, and end' },
})

/** Certificates of a listener; the same for every command that has one. */
export const tlsOptions: OptionTable = Object.fromEntries(
  ['tls-cert', 'tls-key', 'tls-client-ca'].map((name) => [name, configOptions[name]!]),
)
