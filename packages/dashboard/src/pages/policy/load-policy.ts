import { apiAnswer } from '../../api/api.ts'
import type { Policy } from '../../api/shapes.ts'

/** The policy as it was read, with the version that a change must be based on. */
export interface Loaded {
  readonly policy: Policy
  readonly etag: string
  readonly atMs: number
}

export async function loadPolicy(signal?: AbortSignal): Promise<Loaded> {
  const { body, headers } = await apiAnswer<Policy>('GET', '/v1/policy', signal === undefined ? {} : { signal })
  return { policy: body, etag: headers.get('etag') ?? '', atMs: Date.now() }
}
