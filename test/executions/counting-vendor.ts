import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { bodyOf, type RandomCall } from './random-call.ts'

/** A vendor that counts how often each call was executed. */
export interface CountingVendor {
  readonly origin: string
  executionsOf(call: RandomCall): number
  close(): Promise<void>
}

/** Starts a vendor that reacts to each call as the call itself says. */
export async function startCountingVendor(calls: readonly RandomCall[]): Promise<CountingVendor> {
  const executions = new Map<number, number>()
  const server = createServer((request, response) => {
    const id = Number(request.url!.slice(1))
    const execution = (executions.get(id) ?? 0) + 1
    executions.set(id, execution)
    void react(calls[id]!, execution, request, response).catch(() => {})
  })
  server.keepAliveTimeout = 30_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    executionsOf: ({ id }) => executions.get(id) ?? 0,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function react(
  call: RandomCall,
  execution: number,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const reaction = call.reactions[execution - 1]!
  const { status, retryAfter, cut } = reaction
  if (cut !== 'before the body is read') for await (const _ of request);
  if (cut === 'never answers') return
  if (cut === 'before the head' || cut === 'before the body is read') {
    request.socket.destroy()
    return
  }
  const pieces = bodyOf(call, execution, reaction)
  const length = Buffer.byteLength(pieces.join(''))
  // A cut response announces more than comes, so that nobody can take it for a whole one.
  response.setHeader('content-length', cut === undefined ? length : length + 100)
  if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter)
  response.writeHead(status)
  response.flushHeaders()
  for (const piece of cut === 'after the head' ? [] : pieces) {
    await sleep(1)
    response.write(piece)
  }
  if (cut === undefined) response.end()
  else setImmediate(() => request.socket.destroy())
}
