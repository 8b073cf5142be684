import type { ApiParts } from './api-parts.ts'
import { problemResponse, toProblem } from './problem.ts'

/** The response to a request that failed. Only a fault of the daemon itself is logged. */
export function failed({ log }: Pick<ApiParts, 'log'>, error: unknown): Response {
  if (toProblem(error).status === 500) log.error({ err: error }, 'a request failed')
  return problemResponse(error)
}
