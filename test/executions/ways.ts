import { Agent, request } from 'node:http'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Egress } from 'sluice/egress'
import { createLog } from '../../packages/server/src/log/create-log.ts'
import { startProxy } from '../../packages/server/src/proxy/proxy.ts'
import type { RandomCall } from './random-call.ts'

/** What a caller gets: a whole response, or a failure. */
export type Ending = { readonly status: number; readonly text: string } | { readonly failure: unknown }

/** One way to make calls through egress. */
export interface Way {
  call(call: RandomCall): Promise<Ending>
  close(): Promise<void>
}

const content = 'twelve bytes'
const headersOf = ({ hasKey, id }: RandomCall): Record<string, string> => (hasKey ? { 'idempotency-key': `${id}` } : {})

function bodyOf({ body }: RandomCall): string | Buffer | Readable | null {
  if (body === 'none') return null
  if (body === 'text') return content
  if (body === 'long stream') return Readable.from(Array.from({ length: 20 }, () => Buffer.alloc(64 * 1024)))
  return body === 'buffer' ? Buffer.from(content) : Readable.from([content.slice(0, 6), content.slice(6)])
}

export const ways: Readonly<Record<string, (egress: Egress, origin: string) => Promise<Way>>> = {
  fetch: async (egress, origin) => ({
    async call(call) {
      const body = bodyOf(call)
      const init = { method: call.method, headers: headersOf(call) }
      try {
        const response = await egress.fetch(
          `${origin}/${call.id}`,
          body instanceof Readable ? { ...init, body, duplex: 'half' } : { ...init, body },
        )
        return { status: response.status, text: await response.text() }
      } catch (failure) {
        return { failure }
      }
    },
    close: async () => {},
  }),

  request: async (egress) => ({
    async call(call) {
      const about = { upstream: 'vendor', path: `/${call.id}`, method: call.method, headers: headersOf(call) }
      try {
        const response = await egress.request({ ...about, body: bodyOf(call) })
        return { status: response.status, text: await text(response.body) }
      } catch (failure) {
        return { failure }
      }
    },
    close: async () => {},
  }),

  'the proxy': async (egress) => {
    const settings = {
      host: '127.0.0.1',
      port: 0,
      tokens: { current: [] },
      credentials: { current: {} },
      maxBodyBytes: 1e7,
      drainMs: 2000,
    }
    const proxy = await startProxy(egress, settings, createLog('silent'))
    const agent = new Agent({ keepAlive: true })
    return {
      call: (call) =>
        new Promise((resolve) => {
          const fail = (failure: unknown): void => resolve({ failure })
          const path = `/vendor/${call.id}`
          // Node's client frames the body of a DELETE only when it is told how.
          const inMemory = { 'content-length': call.body === 'none' ? 0 : content.length }
          const framing = call.body.endsWith('stream') ? { 'transfer-encoding': 'chunked' } : inMemory
          const headers = { ...headersOf(call), ...framing }
          const to = { host: '127.0.0.1', port: proxy.port, path, method: call.method, headers, agent }
          const sent = request(to, (response) => {
            text(response).then((whole) => resolve({ status: response.statusCode!, text: whole }), fail)
          })
          sent.on('error', fail)
          const body = bodyOf(call)
          if (body instanceof Readable) body.pipe(sent)
          else sent.end(body ?? undefined)
        }),
      async close() {
        agent.destroy()
        await proxy.close()
      },
    }
  },
}
