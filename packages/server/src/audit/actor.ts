import type { Context } from 'hono'
import { clientAddress } from 'sluice/http'
import type { NodeEnv } from '../http/access.ts'
import type { ApiParts } from '../http/api-parts.ts'
import type { Actor } from './audit-log.ts'

/** Tells who makes a request: whoever has no token in it came in with the cookie of the page. */
export function actorOf({ identity }: Pick<ApiParts, 'identity'>): (c: Context<NodeEnv>) => Actor {
  const addressOf = clientAddress(identity)
  return (c) => {
    const { headers, socket } = c.env.incoming
    const hasToken = headers.authorization !== undefined || headers['x-sluice-token'] !== undefined
    return {
      via: hasToken ? 'token' : 'page',
      address: addressOf(socket.remoteAddress, { headers: Object.fromEntries(c.req.raw.headers) }),
    }
  }
}
