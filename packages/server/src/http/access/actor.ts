import type { Context } from 'hono'
import { clientAddress } from 'sluice/http'
import type { Actor } from '../../audit/audit-log.ts'
import type { ApiParts } from '../api-parts.ts'
import type { NodeEnv } from './access.ts'
import { hasToken } from './session/page-access.ts'

/** Who makes a request. One without a token was authenticated by the cookie of the page. */
export function actorOf({ identity, page }: Pick<ApiParts, 'identity' | 'page'>): (c: Context<NodeEnv>) => Actor {
  const addressOf = clientAddress(identity)
  return (c) => {
    return {
      name: page.personOf(c.env.incoming)?.name ?? 'unknown',
      via: hasToken(c.env.incoming) ? 'token' : 'page',
      address: addressOf(c.env.incoming.socket.remoteAddress, { headers: Object.fromEntries(c.req.raw.headers) }),
    }
  }
}
