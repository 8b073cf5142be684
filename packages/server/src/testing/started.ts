import { type Flags, resolveConfig } from '../config/config.ts'
import { createLog } from '../log/create-log.ts'
import { type Daemon, serve } from '../serve.ts'

/** What admin routes of daemons under test want, and `send` gives. */
export const adminToken = 'token-of-the-tests'

/** Starts a daemon for a test, on free ports, with an environment of its own and a silent log. */
export function startDaemon(flags: Flags = {}, env: Readonly<Record<string, string>> = {}): Promise<Daemon> {
  return serve(resolveConfig({ port: '0', ...flags }, { SLUICE_ADMIN_TOKEN: adminToken, ...env }), {
    log: createLog('silent'),
  })
}

/** Sends JSON and returns the status, the headers and the parsed answer. */
export async function send(
  url: string,
  method: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; headers: Headers; body: never }> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const sent = { authorization: `Bearer ${adminToken}`, ...headers }
  const response = await fetch(url, { method, headers: sent, ...(text === undefined ? {} : { body: text }) })
  const answer = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, body: (isJson ? JSON.parse(answer) : answer) as never }
}
