import { readFileSync } from 'node:fs'
import { readTokenFile, tokenFileOf } from '../../config/secrets/token-file.ts'
import { hideUrl } from '../../connections/hide-secrets.ts'
import type { Stats } from '../../shapes/stats.ts'
import { CliError, outOfReach, wrongUse } from '../cli-error.ts'
import type { Input } from '../command.ts'
import { daemonOptions } from '../options.ts'

/** An HTTP client for a daemon. */
export interface DaemonHttp {
  /** The address without what may be secret in it. */
  readonly address: string
  /** Asks and returns the parsed answer; problems are thrown as errors with an exit code. */
  json(method: string, path: string, body?: unknown): Promise<unknown>
  /** The same with a body that is no JSON. */
  send(method: string, path: string, init?: SendInit): Promise<unknown>
  /** Asks and returns the answer as it is, whatever its status. */
  fetch(method: string, path: string, init?: SendInit): Promise<Response>
}

interface SendInit {
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The daemon the options name. */
export function daemonHttp(input: Input): DaemonHttp {
  const base = readUrl(input.text('url') ?? daemonOptions.url?.default ?? '')
  const timeoutMs = input.duration('timeout', 1) ?? 5000
  const address = base.origin + (base.pathname === '/' ? '' : base.pathname)

  async function ask(method: string, path: string, init: SendInit = {}): Promise<Response> {
    // Read anew each time: a daemon that is restarted has another one.
    const token = readToken(input) ?? ownToken(base)
    const headers = {
      accept: 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...init.headers,
    }
    const body = init.body === undefined ? {} : { body: init.body }
    try {
      return await fetch(address.replace(/\/$/, '') + path, {
        method,
        headers,
        signal: AbortSignal.timeout(timeoutMs),
        ...body,
      })
    } catch (error) {
      throw failed(address, timeoutMs, error as Error)
    }
  }

  async function send(method: string, path: string, init: SendInit = {}): Promise<unknown> {
    const response = await ask(method, path, init)
    const text = await response.text()
    if (!response.ok) throw problemOf(response.status, text, address)
    try {
      return text === '' ? undefined : JSON.parse(text)
    } catch {
      throw outOfReach(`${address} answered something that is not JSON; is it a Sluice daemon?`)
    }
  }

  return {
    address,
    fetch: ask,
    send,
    json(method, path, body) {
      const sent =
        body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
      return send(method, path, sent)
    },
  }
}

/** How the service of a daemon stands. Something else may answer at an address, and in JSON. */
export async function daemonStats(daemon: DaemonHttp, query = ''): Promise<Stats> {
  const answer = (await daemon.json('GET', `/v1/stats${query}`)) as Stats
  if (answer?.decisions === undefined) throw outOfReach(`${daemon.address} does not answer as a Sluice daemon does`)
  return answer
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw wrongUse(`--url is ${JSON.stringify(hideUrl(text))}; write http://HOST:PORT`)
  return url
}

/**
 * The token comes from a file or the environment and never from the command line, which others on the machine can read.
 */
function readToken(input: Input): string | undefined {
  const file = input.text('token-file')
  if (file === undefined) return process.env.SLUICE_ADMIN_TOKEN || undefined
  try {
    // Of a file with several people, the first one.
    const lines = readFileSync(file, 'utf8').split('\n')
    const first = lines.map((line) => line.trim()).find((line) => line !== '' && !line.startsWith('#'))
    return first?.split(/\s+/).at(-1)
  } catch (error) {
    throw wrongUse(`--token-file cannot be read: ${(error as Error).message}`)
  }
}

/** The token that a daemon of this user on this machine has generated. It is never sent to another machine. */
function ownToken({ hostname, port, protocol }: URL): string | undefined {
  if (!/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)) return undefined
  return readTokenFile(tokenFileOf(Number(port || (protocol === 'https:' ? 443 : 80)), process.env))
}

const untrusted = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_)/

/** Why no answer came: no daemon is there, or one is that cannot be talked to in this way. */
function failed(address: string, timeoutMs: number, error: Error): CliError {
  const { code = '', message = error.message } = (error.cause ?? {}) as { code?: string; message?: string }
  const away = (text: string, hint: string): CliError => outOfReach(text, { hint, cause: error })
  if (error.name === 'TimeoutError')
    return away(`no daemon at ${address}: no answer within ${timeoutMs} ms`, otherDaemon)
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return away(`the certificate of ${address} is for another host`, 'name the daemon by a host of its certificate')
  if (untrusted.test(code))
    return away(
      `the certificate of ${address} is not trusted: ${code}`,
      'name the authority that signed it: NODE_EXTRA_CA_CERTS=ca.pem sluice ...',
    )
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return away(`${address} does not speak TLS`, 'write http://')
  if (code === 'UND_ERR_SOCKET')
    return away(
      `${address} closed the connection`,
      'with TLS, write https://; a daemon with --tls-client-ca wants a certificate, which commands do not show',
    )
  return away(`no daemon at ${address}: ${code || message}`, otherDaemon)
}

const otherDaemon =
  'start one with: sluice serve; or name another with --url; or work on the store itself with --redis and --policy'

/** A refusal of the daemon (RFC 9457) as an error with an exit code. */
function problemOf(status: number, text: string, address: string): CliError {
  const problem = parsed(text)
  const message = problem.detail ?? problem.title ?? `${address} answered ${status}`
  if (status === 401 || status === 403) {
    return new CliError(4, 'not-permitted', message, {
      hint: 'set SLUICE_ADMIN_TOKEN, or name a file with --token-file; a daemon without one leaves a token for the user who started it',
    })
  }
  if (status >= 500) return outOfReach(message)
  if (problem.code === 'SLUICE_INVALID_POLICY') return new CliError(1, problem.code, message)
  if (status === 404 && problem.code === undefined) return new CliError(2, 'not-found', message)
  return new CliError(2, problem.code ?? 'refused', message)
}

function parsed(text: string): { title?: string; detail?: string; code?: string } {
  try {
    return (JSON.parse(text) ?? {}) as { title?: string; detail?: string; code?: string }
  } catch {
    return {}
  }
}
