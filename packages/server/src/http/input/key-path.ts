import type { Context } from 'hono'
import type { Limiter, ReadKeyPart } from 'sluice'
import { pathOf } from 'sluice/http'
import { encodeKey, parseReadableKey } from 'sluice/internal'
import type { NodeEnv } from '../access/access.ts'
import { HttpProblem } from '../problem.ts'

/** A key that stands in the path of a request. */
export interface PathKey {
  readonly rule: string
  readonly key: ReadKeyPart[]
  /** `service/rule/part/...`, as everything else prints it. */
  readonly readable: string
  /** The key alone, as stores and policies name it. */
  readonly subject: string
}

/** Reads `service/rule/part/...` after a prefix such as `/v1/keys/`. */
export function keyInPath(c: Context<NodeEnv>, prefix: string, { policy }: Limiter): PathKey {
  const { service, rule, key } = parseReadableKey(decodedPath(c, prefix))
  if (service !== policy.service) {
    throw new HttpProblem(
      404,
      `This daemon enforces the policy of ${JSON.stringify(policy.service)}, not of ${JSON.stringify(service)}.`,
    )
  }
  return { rule, key, readable: encodeKey([service, rule, ...key]), subject: encodeKey(key) }
}

/** Parts may hold escapes of their own (`%002f`), so the path is decoded exactly once, by segment. */
function decodedPath(c: Context<NodeEnv>, prefix: string): string {
  // They are resolved as folders before the path comes here: the key that is left would be another's.
  if (/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(pathOf(c.env.incoming.url ?? '')))
    throw new HttpProblem(400, 'Write a part that is "." as %25002e, and ".." as %25002e%25002e.')
  const { pathname } = new URL(c.req.url)
  try {
    return pathname.slice(prefix.length).split('/').map(decodeURIComponent).join('/')
  } catch {
    throw new HttpProblem(400, 'The path is not validly percent-encoded.')
  }
}
