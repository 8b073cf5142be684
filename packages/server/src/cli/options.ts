import type { OptionTable } from './command.ts'

/** Options that every command has. */
export const globalOptions: OptionTable = {
  json: { about: 'print the result as JSON; see docs/cli.md for the shapes' },
  color: { about: 'colour the output; --no-color does not (by default only on a terminal and without NO_COLOR)' },
  help: { short: 'h', about: 'print this help' },
}

/** How Redis is reached where its URL is not enough. */
export const redisOptions: OptionTable = {
  'redis-file': {
    value: 'FILE',
    env: ['SLUICE_REDIS_FILE', 'SLUICE_REDIS_URL_FILE', 'REDIS_URL_FILE'],
    about: 'a file with the URL of Redis; a new user or password in it counts from the next connection on',
  },
  'redis-ca': {
    value: 'FILE',
    env: ['SLUICE_REDIS_CA'],
    about: 'the authority that signed the certificate of Redis, PEM',
  },
  'redis-cert': { value: 'FILE', env: ['SLUICE_REDIS_CERT'], about: 'a certificate to show to Redis, PEM' },
  'redis-key': { value: 'FILE', env: ['SLUICE_REDIS_KEY'], about: 'the private key of that certificate, PEM' },
}

/** Where counters live and what is enforced. */
export const storeOptions: OptionTable = {
  redis: {
    value: 'URL',
    env: ['SLUICE_REDIS', 'SLUICE_REDIS_URL', 'REDIS_URL'],
    about: 'the Redis with the counters: redis://, rediss://, redis+sentinel://h1,h2/master, redis+cluster://h1,h2',
  },
  ...redisOptions,
  policy: {
    value: 'SOURCE',
    env: ['SLUICE_POLICY', 'SLUICE_POLICY_URL'],
    about: 'the policy: a file, mongodb://, postgres:// or redis://',
  },
}

/** Which daemon to ask. */
export const daemonOptions: OptionTable = {
  url: { value: 'URL', env: ['SLUICE_URL'], about: 'ask a daemon', default: 'http://127.0.0.1:8440' },
  'token-file': {
    value: 'FILE',
    env: ['SLUICE_ADMIN_TOKEN_FILE'],
    about: 'a file with the admin token of the daemon; SLUICE_ADMIN_TOKEN holds the token itself',
  },
  timeout: { value: 'TIME', env: ['SLUICE_TIMEOUT'], about: 'how long to wait for an answer', default: '5s' },
}

/** Either a daemon, or the store itself. */
export const targetOptions: OptionTable = { ...daemonOptions, ...storeOptions }

/** A request to match against rules. */
export const requestOptions: OptionTable = {
  method: { value: 'METHOD', short: 'X', about: 'the method of the request', default: 'GET' },
  path: { value: 'PATH', about: 'the path of the request, with its query if there is one' },
  header: { value: 'NAME:VALUE', short: 'H', many: true, about: 'a header of the request; can be given again' },
  body: {
    value: 'JSON',
    short: 'd',
    about: 'the body of the request; @FILE reads it from a file, @- from standard input',
  },
  ip: { value: 'ADDRESS', about: 'the address the request comes from' },
  context: {
    value: 'PATH=VALUE',
    many: true,
    about: 'what the service says of it, such as user.plan=pro; can be given again',
  },
}

export const ruleOption: OptionTable = {
  rule: { value: 'NAME', about: 'the rule; KEY is then only the parts of the key: client-corp/en' },
}

/** The short forms of limits. */
export const overrideLimits: OptionTable = {
  rps: { value: 'N', about: 'so many a second' },
  rpm: { value: 'N', about: 'so many a minute' },
  rph: { value: 'N', about: 'so many an hour' },
  rpd: { value: 'N', about: 'so many a day' },
}
