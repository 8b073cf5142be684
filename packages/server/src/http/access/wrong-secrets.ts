import type { IncomingMessage } from 'node:http'
import { type IdentityOptions, identity } from 'sluice/http'
import { HttpProblem } from '../problem.ts'

/** Wrong tokens and codes that are answered as wrong in a minute; more are answered with 429. */
export const wrongPerMinute: { readonly network: number; readonly all: number } = { network: 10, all: 120 }
const windowMs = 60_000

export interface WrongSecretsOptions {
  readonly identity?: IdentityOptions
  /** Called once a minute for each network that is over its bound. */
  readonly onTooMany?: (network: string) => void
  readonly nowMs?: () => number
}

/**
 * Counts wrong tokens and codes by network (an IPv4 address, or the /64 of an IPv6 address) and in total. Only wrong
 * ones are ever refused for their number: a client with the right one gets in however many others guess, so a flood of
 * guesses cannot lock the owner out. What keeps guesses from succeeding is the length of tokens and codes; the bound
 * makes each further guess cost a connection, and warns the operator.
 *
 * It counts by itself, and not with a limiter, as the check of a token must answer at once, without a promise.
 */
export class WrongSecrets {
  readonly #networkOf: (request: IncomingMessage) => string
  readonly #onTooMany: (network: string) => void
  readonly #nowMs: () => number
  readonly #networks = new Map<string, number>()
  #all = 0
  #endsMs = 0

  constructor(options: WrongSecretsOptions = {}) {
    const { identity: given, onTooMany = () => {}, nowMs = () => performance.now() } = options
    const identify = identity(given)
    this.#networkOf = ({ socket, headers }) => identify(socket.remoteAddress, headers) ?? 'unknown'
    this.#onTooMany = onTooMany
    this.#nowMs = nowMs
  }

  /** What a request with a wrong secret is answered with: `wrong`, or 429 when there were too many. */
  refusal(request: IncomingMessage, wrong: HttpProblem): HttpProblem {
    const nowMs = this.#nowMs()
    if (nowMs >= this.#endsMs) {
      this.#networks.clear()
      this.#all = 0
      this.#endsMs = nowMs + windowMs
    }
    const network = this.#networkOf(request)
    const count = (this.#networks.get(network) ?? 0) + 1
    // Networks that come after the total is used up are not remembered, so that memory stays bounded.
    if (this.#all < wrongPerMinute.all || this.#networks.has(network)) this.#networks.set(network, count)
    if (count > wrongPerMinute.network) {
      if (count === wrongPerMinute.network + 1) this.#onTooMany(network)
      return tooMany(this.#endsMs - nowMs)
    }
    // Only what is within the bound of its network counts in total: one network alone cannot use that up.
    return ++this.#all > wrongPerMinute.all ? tooMany(this.#endsMs - nowMs) : wrong
  }
}

function tooMany(retryAfterMs: number): HttpProblem {
  return new HttpProblem(429, 'Too many wrong tokens or codes; wait a minute. The right one always works.', {
    retryAfterMs: Math.ceil(retryAfterMs),
    close: true,
  })
}
