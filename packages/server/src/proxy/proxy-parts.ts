import type { IncomingMessage } from 'node:http'
import type { Logger } from 'pino'
import type { Egress } from 'sluice/egress'
import { type IdentityOptions, identity } from 'sluice/http'
import { systemClock, withinTime } from 'sluice/internal'
import type { NamedToken } from '../config/secrets/tokens.ts'
import type { Current } from '../connections/file-backed.ts'
import { tokenNames } from '../http/access/access.ts'
import { WrongSecrets } from '../http/access/wrong-secrets.ts'
import { HttpProblem } from '../http/problem.ts'
import { type ProxyProblem, problems, tooManyTokens } from './proxy-problem.ts'

/** What the calls of a proxy have in common. */
export interface ProxyParts {
  readonly egress: Egress
  readonly log: Logger
  readonly calls: OpenCalls
  readonly callers: Callers
  /** The headers with the vendor's credentials for an upstream. */
  readonly credentials: (upstream: string) => Readonly<Record<string, string>> | undefined
  readonly maxBodyBytes: number
  readonly bodyIdleMs: number
  readonly readIdleMs: number
}

/** A call that is being answered. */
interface OpenCall {
  /** Answers it now. */
  end(): void
}

/** The calls that a proxy is answering, so that it can stop when they are over. */
export class OpenCalls {
  readonly #calls = new Set<OpenCall>()
  #isEnding = false
  #onEmpty: () => void = () => {}

  get size(): number {
    return this.#calls.size
  }

  /** Whether new calls are refused. */
  get isEnding(): boolean {
    return this.#isEnding
  }

  add(call: OpenCall): void {
    this.#calls.add(call)
  }

  /** The call is over. */
  delete(call: OpenCall): void {
    this.#calls.delete(call)
    if (this.#calls.size === 0) this.#onEmpty()
  }

  /** Resolves when all calls are over. After `withinMs`, those that have no answer yet get 503. */
  async end(withinMs: number): Promise<void> {
    this.#isEnding = true
    if (this.#calls.size === 0) return
    const empty = new Promise<void>((resolve) => {
      this.#onEmpty = resolve
    })
    await withinTime(empty, { ms: withinMs, clock: systemClock(), late: () => undefined }).catch(() => {})
    for (const call of this.#calls) call.end()
  }
}

/** Who calls the proxy. Grants are fair between callers first, whatever tenants they name. */
export class Callers {
  readonly #find: ((token: string) => NamedToken | undefined) | undefined
  readonly #addressOf: (request: IncomingMessage) => string
  readonly #wrongTokens: WrongSecrets

  constructor(tokens: Current<readonly NamedToken[]>, log: Logger, trusted: IdentityOptions = {}) {
    this.#find = tokens.current.length === 0 ? undefined : tokenNames(() => tokens.current)
    const identify = identity(trusted)
    this.#addressOf = ({ socket, headers }) => identify(socket.remoteAddress, headers) ?? 'unknown'
    const onTooMany = (network: string): void => log.warn({ network }, 'many wrong tokens')
    this.#wrongTokens = new WrongSecrets({ identity: trusted, onTooMany })
  }

  /** The name of its token, or where none is needed, its address; or why it may not call. */
  of(request: IncomingMessage): string | ProxyProblem {
    if (this.#find === undefined) return `@${this.#addressOf(request)}`
    const given = request.headers['x-internal-token']
    // A request without a token guesses nothing.
    if (given === undefined) return problems.token
    const found = this.#find(String(given))
    if (found !== undefined) return found.name
    const { status, extra } = this.#wrongTokens.refusal(request, wrong)
    return status === 401 ? problems.token : tooManyTokens(Number(extra.retryAfterMs))
  }
}

const wrong = new HttpProblem(problems.token.status, problems.token.message)
