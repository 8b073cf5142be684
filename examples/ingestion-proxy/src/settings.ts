import { type Env, SettingError } from 'example-service'

/** Where the vendor is, and how to log in there. */
export interface Vendor {
  /** With its path, such as `https://api.nivoda.net/graphql`. */
  readonly endpoint: string
  /** `Basic ...`, if there is a user. */
  readonly authorization: string | undefined
}

export function readVendor(env: Env): Vendor {
  const endpoint = env.url('NIVODA_ENDPOINT', 'use https://api.nivoda.net/graphql')
  const { username, password: inUrl } = new URL(endpoint)
  if (username || inUrl)
    throw new SettingError('NIVODA_ENDPOINT has credentials: use NIVODA_USERNAME and NIVODA_PASSWORD for them')
  const [user, password] = [env.optional('NIVODA_USERNAME'), env.optional('NIVODA_PASSWORD')]
  if ((user === undefined) !== (password === undefined))
    throw new SettingError(`${user ? 'NIVODA_PASSWORD' : 'NIVODA_USERNAME'} is not set: set both, or none`)
  const basic = user && `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  return { endpoint, authorization: basic }
}

/** The settings of the proxy, with the names of the document. */
export interface ProxySettings extends Vendor {
  readonly perSecond: number
  readonly maxWaitMs: number
  readonly timeoutMs: number
  /** How long a request may take to reach the vendor: `auto`, `response` or a duration. */
  readonly arrival: string
  /** What callers show; two while the token is rotated. */
  readonly tokens: readonly string[]
  readonly onRedisFailure: 'closed' | 'local' | 'open'
}

export function readProxySettings(env: Env): ProxySettings {
  const token = env.required('INTERNAL_SERVICE_TOKEN', 'use the secret that scheduler and workers have')
  const next = env.optional('INTERNAL_SERVICE_TOKEN_NEXT')
  const arrival = env.text('NIVODA_ARRIVAL', 'auto')
  if (!/^(auto|response|\d+m?s)$/.test(arrival))
    throw new SettingError(`NIVODA_ARRIVAL is ${arrival}: use auto, response or a duration such as 50ms`)
  return {
    ...readVendor(env),
    perSecond: env.whole('NIVODA_PROXY_RATE_LIMIT', 25, { least: 1 }),
    maxWaitMs: env.whole('NIVODA_PROXY_RATE_LIMIT_MAX_WAIT_MS', 60_000, { least: 1 }),
    timeoutMs: env.whole('NIVODA_PROXY_TIMEOUT_MS', 60_000, { least: 1 }),
    arrival,
    tokens: next === undefined ? [token] : [token, next],
    onRedisFailure: env.choice('RATE_LIMIT_ON_REDIS_FAILURE', ['closed', 'local', 'open'], 'closed'),
  }
}
