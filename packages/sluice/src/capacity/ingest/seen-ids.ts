/** The state of an event that arrives: not yet seen (and now claimed by the caller), being stored, or stored before. */
export type Seen = 'new' | 'pending' | 'done'

/** Remembers which events were accepted. */
export interface SeenIds {
  /** Claims events, in the order of `ids`. A claim that is neither finished nor released expires after a minute. */
  claim(ids: readonly string[]): Promise<readonly Seen[]>
  /** The events were stored. */
  finish(ids: readonly string[]): Promise<void>
  /** The events were not stored and may be sent again. */
  release(ids: readonly string[]): Promise<void>
  /** Whether claims can be made now, where that depends on something; it must answer in time. */
  isReachable?(withinMs: number): Promise<boolean>
  close(): Promise<void>
}

/** How long a claim lasts if the process that made it neither finishes nor releases it. */
export const claimMs = 60_000
