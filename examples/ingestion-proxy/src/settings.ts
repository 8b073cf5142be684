/** The settings of the proxy from its environment, with the names of the service that this example replaces. */
export interface Settings {
  readonly endpoint: string
  /** `Basic ...`, if there is a user. */
  readonly authorization: string | undefined
  readonly perSecond: number
  readonly maxWaitMs: number
  readonly timeoutMs: number
  readonly token: string | undefined
  readonly port: number
  readonly redisUrl: string | undefined
}

export function readSettings(env: NodeJS.ProcessEnv): Settings {
  const { NIVODA_ENDPOINT: endpoint, NIVODA_USERNAME: user, NIVODA_PASSWORD: password } = env
  if (!endpoint) throw new Error('NIVODA_ENDPOINT is not set; give the address of the vendor')
  const basic = user ? `Basic ${Buffer.from(`${user}:${password ?? ''}`).toString('base64')}` : undefined
  return {
    endpoint,
    authorization: basic,
    perSecond: number(env, 'NIVODA_PROXY_RATE_LIMIT', 25),
    maxWaitMs: number(env, 'NIVODA_PROXY_RATE_LIMIT_MAX_WAIT_MS', 60_000),
    timeoutMs: number(env, 'NIVODA_PROXY_TIMEOUT_MS', 60_000),
    token: env.INTERNAL_SERVICE_TOKEN || undefined,
    port: number(env, 'PORT', 8460),
    redisUrl: env.REDIS_URL || undefined,
  }
}

function number(env: NodeJS.ProcessEnv, name: string, otherwise: number): number {
  const value = env[name] === undefined ? otherwise : Number(env[name])
  if (!Number.isInteger(value) || value < 0) throw new Error(`${name} is ${env[name]}; use a whole number`)
  return value
}
