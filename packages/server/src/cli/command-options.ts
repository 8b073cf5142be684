import { configOptions } from '../config/config.ts'
import type { OptionTable } from './option-table.ts'
import { storeOptions } from './options.ts'

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
  'proxy-host': { value: 'ADDRESS', about: 'where the proxy for upstreams listens', default: 'as --host' },
  'proxy-port': {
    value: 'PORT',
    about: "the port of a proxy that holds the limits of the policy's upstreams, as sluice proxy does",
    default: 'it is off',
  },
  'proxy-credentials': {
    value: 'UPSTREAM:HEADER=VARIABLE',
    about: 'headers that the proxy adds, with the values of environment variables; with commas between',
  },
  'tls-cert': { value: 'FILE', about: 'the certificate chain, PEM; HTTP, gRPC and the proxy then speak TLS only' },
  'tls-key': { value: 'FILE', about: 'the private key of the certificate, PEM' },
  'tls-client-ca': { value: 'FILE', about: 'clients must show a certificate that this authority has signed, PEM' },
  redis: { value: 'URL', about: `${storeOptions.redis?.about}; counters live in memory without it` },
  'redis-prefix': { value: 'TEXT', about: 'the start of every Redis key' },
  'require-redis': { about: 'do not start while Redis cannot be used' },
  'data-sources': {
    value: 'NAMESPACE/SOURCE',
    about: 'data sources of caches that should report, listed in /ready and /metrics; separated by commas',
    default: 'none',
  },
  policy: {
    value: 'SOURCE',
    about: `${storeOptions.policy?.about}; DATABASE_URL counts too. Without it a built-in example is in force`,
  },
  service: { value: 'NAME', about: 'whose policy to take from a database that holds several' },
  'admin-token-file': {
    value: 'FILE',
    about:
      'a file with the token that admin routes want; SLUICE_ADMIN_TOKEN holds the token itself. Without one a token is generated, which only commands of the same user find',
  },
  'decide-token-file': {
    value: 'FILE',
    about: 'a file with a token that checks, holds and /v1/auth want; SLUICE_DECIDE_TOKEN holds the token itself',
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

export const serveOptions: OptionTable = Object.fromEntries(
  Object.entries(configOptions).map(([name, { env, default: otherwise }]) => {
    const spec = aboutServe[name] ?? { value: 'VALUE', about: '' }
    return [
      name,
      { ...spec, ...(env.length === 0 ? {} : { env }), ...(otherwise === undefined ? {} : { default: otherwise }) },
    ]
  }),
)
