import type { IncomingMessage } from 'node:http'
import { unreadableBody } from '../../policy/request-view.ts'
import { carriesBody } from '../request/request-views.ts'

/**
 * The body as a parser left it. Parsers of Express 4 and Koa leave an empty object for types that they do not read:
 * what is still in the connection then may be read by the next parser, so it is no empty body.
 */
export function parsedBody(req: IncomingMessage, body: unknown): unknown {
  return isEmptyObject(body) && !req.readableDidRead && carriesBody(req.headers) ? unreadableBody : body
}

function isEmptyObject(body: unknown): boolean {
  return typeof body === 'object' && body !== null && !Array.isArray(body) && Object.keys(body).length === 0
}
