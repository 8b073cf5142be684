import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { Registry } from 'prom-client'
import { waitFor } from 'sluice/testing'
import { expect, test } from 'vitest'
import { readEnv } from './src/env.ts'
import { serve } from './src/serve.ts'

const start = (handler: Parameters<typeof serve>[0]['handler'], env: Record<string, string> = {}) =>
  serve({
    env: readEnv({ HOST: '127.0.0.1', PORT: '0', METRICS_PORT: '0', ...env }),
    ...{ handler, log: () => undefined, port: 0, registry: new Registry() },
    ready: async () => ({ ready: true }),
    close: async () => undefined,
  })

test('clients that keep their connections busy lose no request when it stops', async () => {
  const { url, stop } = await start((_, response) => setTimeout(() => response.end('ok'), 5), { DRAIN_MS: '3000' })
  const agent = new Agent({ keepAlive: true })
  let answered = 0
  const lost: string[] = []
  const client = async (): Promise<void> => {
    for (;;) {
      const request = get(url, { agent })
      try {
        const [response] = (await once(request, 'response')) as [IncomingMessage]
        await once(response.resume(), 'end')
        answered += 1
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        // No new connections: another process takes them.
        if (code !== 'ECONNREFUSED') lost.push(String(code))
        return
      }
    }
  }
  const clients = Array.from({ length: 5 }, client)
  await waitFor(() => answered > 20)
  const stopped = stop()
  await Promise.all([stopped, ...clients])
  agent.destroy()
  expect(lost).toEqual([])
})

test('the address that it says is a URL, also for IPv6', async () => {
  const { url, stop } = await start((_, response) => response.end('ok'), { HOST: '::1' })
  expect(await (await fetch(url)).text()).toBe('ok')
  await stop()
})
