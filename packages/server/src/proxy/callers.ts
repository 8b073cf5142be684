import type { IncomingMessage } from 'node:http'
import type { Logger } from 'pino'
import { type IdentityOptions, identity } from 'sluice/http'
import type { NamedToken } from '../config/secrets/tokens.ts'
import type { Current } from '../connections/file-backed.ts'
import { tokenNames } from '../http/access/access.ts'
import { WrongSecrets } from '../http/access/wrong-secrets.ts'
import { HttpProblem } from '../http/problem.ts'
import { type ProxyProblem, problems, tooManyTokens } from './proxy-problem.ts'

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
