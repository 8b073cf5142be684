import { checkOptionNames } from '../core/check-options.ts'
import { invalidOption, SluiceError } from '../core/errors.ts'
import type { ReportDestination } from './destination.ts'

export interface DaemonReportsOptions {
  /** The daemon's admin token, or its token for deciding. */
  readonly token: string
}

/**
 * Reports to a daemon, where there is no Redis: `POST /v1/reports`.
 *
 * @example
 * startReports({ service: 'shop', to: daemonReports('http://127.0.0.1:8440', { token }), parts })
 */
export function daemonReports(url: string, options: DaemonReportsOptions): ReportDestination {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw invalidOption('daemonReports url', url, 'use http://HOST:PORT')
  checkOptionNames('daemonReports', options, ['token'])
  if (typeof options.token !== 'string' || options.token === '')
    throw invalidOption('daemonReports.token', '***', "give the daemon's token")
  const { origin, pathname } = new URL(url)
  const base = `${origin}${pathname.replace(/\/$/, '')}/v1/reports`
  const call = async (path: string, init: RequestInit, withinMs: number): Promise<void> => {
    const headers = { 'content-type': 'application/json', 'x-sluice-token': options.token }
    // A redirect to another host would take the token along.
    const signal = AbortSignal.timeout(withinMs)
    const response = await fetch(base + path, { ...init, headers, signal, redirect: 'error' }).catch((error: Error) => {
      throw new SluiceError('SLUICE_REPORT_FAILED', `${base} cannot be reached: ${reasonOf(error, withinMs)}.`, {
        cause: error,
        transient: true,
      })
    })
    // Read so that the socket can be used again; its content does not matter, and it may break off.
    await response.arrayBuffer().catch(() => undefined)
    if (!response.ok)
      throw new SluiceError('SLUICE_REPORT_FAILED', `${base} answered ${response.status}.`, {
        transient: response.status >= 500,
      })
  }
  return {
    description: base,
    send: (_service, _replica, text, withinMs) => call('', { method: 'POST', body: text }, withinMs),
    remove: (service, replica, withinMs) =>
      call(`/${encodeURIComponent(service)}/${encodeURIComponent(replica)}`, { method: 'DELETE' }, withinMs),
    close: async () => {},
  }
}

/** What is behind `fetch failed`, such as `connect ECONNREFUSED 127.0.0.1:8440`. */
function reasonOf(error: Error, withinMs: number): string {
  if (error.name === 'TimeoutError') return `no answer within ${withinMs} ms`
  const { message, code } = (error.cause ?? {}) as { message?: string; code?: string }
  return message || code || error.message
}
