import { setTimeout as sleep } from 'node:timers/promises'
import type { Env, Log } from 'example-service'
import { readVendor } from './settings.ts'

export interface GraphQl {
  readonly operationName: string
  readonly query: string
  readonly variables?: object
}

/** Calls the vendor; rejects when it cannot be reached after all attempts. */
export type CallVendor = (question: GraphQl) => Promise<unknown>

/** What passes by itself: too many calls at once, and a vendor or proxy that is away. */
const transient = [429, 502, 503, 504]
const attempts = 8

/**
 * Calls through the proxy, or directly when `NIVODA_PROXY_BASE_URL` is not set: that one variable rolls the proxy back.
 * The token goes to the proxy only, the credentials to the vendor only.
 */
export function vendorCalls(env: Env, log: Log): CallVendor {
  const base = env.optionalUrl('NIVODA_PROXY_BASE_URL', 'use http://ingestion-proxy:3001')
  const { endpoint, authorization } = base === undefined ? readVendor(env) : { endpoint: '', authorization: undefined }
  const url = base === undefined ? endpoint : new URL('/graphql', base).href
  const token = base === undefined ? undefined : env.required('INTERNAL_SERVICE_TOKEN', 'use the secret of the proxy')
  const headers = {
    'content-type': 'application/json',
    ...(token && { 'x-internal-token': token }),
    ...(authorization && { authorization }),
  }
  return async (question) => {
    for (let attempt = 1; ; attempt++) {
      // Longer than the longest wait in the queue and the vendor's timeout together.
      const signal = AbortSignal.timeout(125_000)
      const init = { method: 'POST', headers, body: JSON.stringify(question), signal }
      const response = await fetch(url, init).catch((error: Error) => error)
      const failed = response instanceof Error
      if (!failed && response.ok) return response.json()
      const status = failed ? 0 : response.status
      const reason = failed ? response.message : await response.text()
      if (attempt === attempts || (status !== 0 && !transient.includes(status)))
        throw new Error(`the vendor was not asked: ${status} ${reason}`)
      const afterMs = Number(failed ? 0 : response.headers.get('retry-after')) * 1000
      // Doubled with every attempt, and at random, so that workers that failed together do not return together.
      const delayMs = Math.max(afterMs || 0, 200 * 2 ** attempt * (0.5 + Math.random() / 2))
      log('nivoda_request_retry', { operationName: question.operationName, attempt, status, delayMs })
      await sleep(delayMs)
    }
  }
}
