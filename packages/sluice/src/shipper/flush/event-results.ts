import type { EventResult } from './answers.ts'

/** An event with two different answers is sent again: whatever the server did with it, that loses nothing. */
export function resultsById(results: readonly EventResult[]): ReadonlyMap<string, EventResult> {
  const byId = new Map<string, EventResult>()
  for (const result of results) {
    const former = byId.get(result.id)
    const isClear = former === undefined || former.status === result.status
    byId.set(result.id, isClear ? result : { id: result.id, status: 'retry' })
  }
  return byId
}
