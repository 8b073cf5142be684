import type { StoredEvent } from '../log/segment/stored-event.ts'

/** An event that is set aside, and why. */
export interface Rejection {
  readonly event: StoredEvent
  readonly reason: string
}
