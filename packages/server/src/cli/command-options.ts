import { configOptions } from '../config/config.ts'
import type { OptionTable } from './command.ts'
import { redisOptions, storeOptions } from './options.ts'

export const topOptions: OptionTable = {
  interval: { value: 'TIME', short: 'n', about: 'how often to look', default: '1s' },
  count: { value: 'N', about: 'look so many times, then end; without it until interrupted' },
  rule: { value: 'NAME', about: 'only the keys of this rule' },
  sort: { value: 'BY', about: 'what comes first', choices: ['used', 'denied'], default: 'used' },
}

/** What each option of the daemon is about. Names, variables and defaults stand where the daemon reads them. */
const aboutServe: OptionTable = {
  host: { value: 'ADDRESS', about: 'where to listen; 0.0.0.0 for every interface' },
  port: {
    value: 'PORT',
    short: 'p',
    about: 'the port of the HTTP API and the page; on a terminal any free one if the default is taken',
  },
  'grpc-host': { value: 'ADDRESS', about: 'where the Envoy rate-limit service listens', default: 'as --host' },
  'grpc-port': { value: 'PORT', about: 'the port of the Envoy rate-limit service', default: 'it is off' },
  'grpc-shadow': { about: 'let it answer OK whatever is over its limit, and count all the same' },
  'admin-host': { value: 'ADDRESS', about: 'where the listener of operators is', default: 'as --host' },
  'admin-port': {
    value: 'PORT',
    about: 'a port of its own for the page, what operators use and metrics; decisions stay on --port',
    default: 'they are on --port',
  },
  'proxy-host': { value: 'ADDRESS', about: 'where the proxy for upstreams listens', default: 'as --host' },
  'proxy-port': {
    value: 'PORT',
    about: "the port of a proxy that holds the limits of the policy's upstreams, as sluice proxy does",
    default: 'it is off',
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
  'tls-client-ca': { value: 'FILE', about: 'clients must show a certificate that this authority has signed, PEM' },
  redis: { value: 'URL', about: `${storeOptions.redis?.about}; counters live in memory without it` },
  ...redisOptions,
  'redis-prefix': { value: 'TEXT', about: 'the start of every Redis key' },
  'require-redis': { about: 'do not start while Redis cannot be used' },
  'wait-for-redis': { about: 'while Redis cannot be used, wait for it: /ready says no, and nothing is decided' },
  'data-sources': {
    value: 'NAMESPACE/SOURCE',
    about: 'data sources of caches that should report, listed in /ready and /metrics; separated by commas',
    default: 'none',
  },
  lookup: {
    value: 'NAME=postgres:TABLE',
    about:
      'tables of the database in DATABASE_URL that say the tier of a key (columns key and tier), for rules with tier: { lookup: NAME }; with commas between',
    default: 'such tiers are not known',
  },
  policy: {
    value: 'SOURCE',
    about: `${storeOptions.policy?.about}; else sluice.yaml in this folder, or the database in DATABASE_URL. Without any of them a built-in example is in force`,
  },
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
  'metrics-token-file': {
    value: 'FILE',
    about: 'a file with tokens that /metrics wants; SLUICE_METRICS_TOKEN holds one. Without it everybody may read them',
  },
  config: { value: 'FILE', about: 'YAML with these options by name; flags and variables come first' },
  'decide-token-file': {
    value: 'FILE',
    about: 'a file with tokens that checks, holds and /v1/auth want; SLUICE_DECIDE_TOKEN holds one',
  },
  'trusted-proxies': {
    value: 'CIDRS',
    about: 'proxies whose word about the address of a client counts, with commas between',
  },
  'forwarded-by': {
    value: 'HEADER',
    about: 'the header in which those proxies name the client',
    choices: ['either', 'forwarded', 'x-forwarded-for'],
  },
  'history-url': {
    value: 'URL',
    about: 'where the page leads for figures of more than 15 minutes ago, such as a board of Grafana',
  },
  deadline: { value: 'TIME', about: 'within which time every decision is made, whatever the store does' },
  'max-batch': {
    value: 'N',
    about: 'most checks times matching rules of one POST /v1/check; more are refused with 413',
  },
  replicas: {
    value: 'N',
    about: 'how many daemons share limits while Redis is away, where the policy says local; counted when left out',
  },
  'log-level': {
    value: 'LEVEL',
    about: 'how much to log',
    choices: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
  },
  validate: { about: 'check the configuration and the policy, say so, and end' },
}

/** Certificates of a listener; the same for every command that has one. */
export const tlsOptions: OptionTable = Object.fromEntries(
  ['tls-cert', 'tls-key', 'tls-client-ca'].map((name) => [
    name,
    { ...aboutServe[name]!, env: configOptions[name]!.env },
  ]),
)

export const serveOptions: OptionTable = Object.fromEntries(
  Object.entries(configOptions).map(([name, { env, default: otherwise }]) => {
    const spec = aboutServe[name] ?? { value: 'VALUE', about: '' }
    return [
      name,
      { ...spec, ...(env.length === 0 ? {} : { env }), ...(otherwise === undefined ? {} : { default: otherwise }) },
    ]
  }),
)
