import { createLimiter, memoryStore } from 'sluice'
import { decisionOf, rateLimit } from 'sluice/fetch'

/** A service as it is written for an edge runtime: nothing but the limiter in memory and the fetch adapter. */
export async function start(): Promise<(request: Request) => Promise<Response>> {
  const limiter = await createLimiter({ limits: { rpm: 2 }, store: memoryStore() })
  const handler = (request: Request) => Response.json({ left: decisionOf(request)?.limits[0]?.remaining })
  return rateLimit(limiter, handler, {
    remoteAddress: (request) => request.headers.get('cf-connecting-ip') ?? undefined,
  })
}
