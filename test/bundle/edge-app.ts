import { createLimiter, memoryStore } from 'sluice'
import { decisionOf, rateLimit } from 'sluice/fetch'

const handler = (request: Request): Response => Response.json({ left: decisionOf(request)?.limits[0]?.remaining })
const remoteAddress = (request: Request): string | undefined => request.headers.get('cf-connecting-ip') ?? undefined

/** A service as it is written for an edge runtime: nothing but the limiter in memory and the fetch adapter. */
export async function start(): Promise<(request: Request) => Promise<Response>> {
  const limiter = await createLimiter({ limits: { rpm: 2 }, store: memoryStore() })
  return rateLimit(limiter, handler, { remoteAddress })
}

/** The same at its shortest, as it may stand in the global scope of a worker. */
export function startFromOptions(): (request: Request) => Promise<Response> {
  return rateLimit({ limits: { rpm: 2 } }, handler, { remoteAddress })
}
