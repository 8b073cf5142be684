import type { ChargeOptions, GuardOptions } from '../../http/guard/guard-options.ts'
import type { GivenLimiter } from '../../http/guard/open-limiter.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { RuleSpec } from '../../policy/document/document.ts'
import type { Store } from '../../stores/store.ts'
import { exchange, type HttpAnswer, type HttpAsk } from '../http-exchange.ts'

/** What the suite asks of an app, in words every adapter understands. */
export interface HttpAppOptions extends GuardOptions<unknown, unknown> {
  /** False: no parser of bodies before the limiter. */
  readonly parsesBody?: boolean
}

/**
 * Starts a real app with the adapter in front, on a free port of 127.0.0.1. It serves, behind the adapter with
 * `options`:
 *
 * - `GET /hello`, `GET /healthz`: the text `hello`
 * - `GET /query`: the query as the framework parsed it, as JSON
 * - `POST /echo`: the parsed JSON body as JSON
 * - `GET /decision`: the decision the handler was given, as JSON
 * - `GET /status/401`: an empty answer with status 401, by `statusIn`
 * - `GET /bytes`: 1000 bytes
 * - `GET /hang`: nothing, ever
 * - `GET /own`: the text `hello`, charged as `own` says
 *
 * Its `close` also closes what the adapter opened. A mistake in the arguments is thrown, or rejects the promise.
 */
export type StartHttpApp = (
  limiter: GivenLimiter,
  options: HttpAppOptions,
  own: ChargeOptions<unknown>,
) => Promise<{ readonly port: number; close(): Promise<void> }>

/** An app that is running, and its limiter. */
export interface HttpClient {
  readonly limiter: Limiter
  readonly port: number
  ask(path: string, ask?: HttpAsk): Promise<HttpAnswer>
}

/** Runs a test with an app of its own. */
export type UsingApp = (
  rules: readonly RuleSpec[],
  options: HttpAppOptions,
  test: (client: HttpClient) => Promise<void>,
  store?: Store,
) => Promise<void>

/** Adds a test. */
export type AddTest = (name: string, body: () => Promise<void>) => unknown

const own: ChargeOptions<unknown> = { rule: 'own', key: (_, { headers }) => `user:${headers['x-user']}` }

/** Makes apps for tests, and ends them whatever happens. */
export function usingApps(start: StartHttpApp): UsingApp {
  return async function using(rules, options, test, store) {
    const policy = { service: 'suite', rules }
    const limiter = await createLimiter({ policy, ...(store === undefined ? {} : { store }) })
    const app = await start(limiter, options, own)
    try {
      const ask = (path: string, asked?: HttpAsk) => exchange(app.port, path, asked).answer
      await test({ limiter, port: app.port, ask })
    } finally {
      await app.close()
      await limiter.close()
    }
  }
}

/** A rule that lets so many requests of an address pass in a minute. */
export const minute = (amount: number, rest: Partial<RuleSpec> = {}): RuleSpec => ({
  ...{ name: 'api', key: 'ip', limits: { name: 'rpm', amount, per: '1m', algorithm: 'fixed-window' } },
  ...rest,
})

/** The rule that only `GET /own` is charged to. */
export const ownRule: RuleSpec = minute(1, { name: 'own', match: { path: '/nowhere' } })

/** What an answer says is left. */
export const remaining = ({ headers }: HttpAnswer): number =>
  Number(/;r=(\d+)/.exec(String(headers.ratelimit))?.[1] ?? Number.NaN)

/** The status that `GET /status/:code` answers with; 404 for what is none. */
export const statusIn = (code: string): number => (/^[2-5]\d\d$/.test(code) ? Number(code) : 404)
