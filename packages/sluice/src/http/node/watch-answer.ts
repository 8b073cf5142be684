import type { ServerResponse } from 'node:http'

/** What frameworks answer with; Fastify writes only after its hooks. */
interface Sender {
  send(...args: unknown[]): unknown
}

/** Tells later whether a response was answered meanwhile, or begun to be. */
export function watchAnswer(response: ServerResponse, sender?: Sender): () => boolean {
  let hasBegun = false
  const begin = (): void => {
    hasBegun = true
  }
  response.once('pipe', begin)
  const send = sender?.send
  if (sender !== undefined)
    sender.send = function (this: Sender, ...args) {
      hasBegun = true
      return send!.apply(this, args)
    }
  return () => {
    response.off('pipe', begin)
    if (sender !== undefined) sender.send = send!
    return hasBegun || response.headersSent || response.writableEnded
  }
}
