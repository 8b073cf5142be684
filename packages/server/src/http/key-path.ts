import type { Context } from 'hono'
import type { KeyPart, Limiter } from 'sluice'
import { parseReadableKey } from 'sluice/policy'
import { HttpProblem } from './problem.ts'

/** A key that stands in the path of a request. */
export interface PathKey {
  readonly rule: string
  readonly key: KeyPart[]
  /** `service/rule/part/...`, as everything else prints it. */
  readonly readable: string
  /** The key alone, as stores and policies name it. */
  readonly subject: string
}

/** Reads `service/rule/part/...` after a prefix such as `/v1/keys/`. */
export function keyInPath(c: Context, prefix: string, { policy }: Limiter): PathKey {
  const readable = decodedPath(c, prefix)
  const { service, rule, key } = parseReadableKey(readable)
  if (service !== policy.service) {
    throw new HttpProblem(
      404,
      `This daemon enforces the policy of ${JSON.stringify(policy.service)}, not of ${JSON.stringify(service)}.`,
    )
  }
  return { rule, key, readable, subject: readable.split('/').slice(2).join('/') }
}

/** Parts may hold escapes of their own (`%002f`), so the path is decoded exactly once, by segment. */
function decodedPath(c: Context, prefix: string): string {
  const { pathname } = new URL(c.req.url)
  try {
    return pathname.slice(prefix.length).split('/').map(decodeURIComponent).join('/')
  } catch {
    throw new HttpProblem(400, 'The path is not validly percent-encoded.')
  }
}
