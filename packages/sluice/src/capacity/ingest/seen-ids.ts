/**
 * What is known of an event that arrives: not yet seen (and now claimed by whoever asks), being taken in, or taken in
 * before.
 */
export type Seen = 'new' | 'pending' | 'done'

/** Remembers which events were taken in. */
export interface SeenIds {
  /**
   * Claims events, in the order of `ids`. A claim that is neither finished nor released ends by itself after a minute.
   */
  claim(ids: readonly string[]): Promise<readonly Seen[]>
  /** The events were taken in, for good. */
  finish(ids: readonly string[]): Promise<void>
  /** The events were not taken in and may be sent again. */
  release(ids: readonly string[]): Promise<void>
  close(): Promise<void>
}

/** How long a claim holds when the process that made it says nothing more. */
export const claimMs = 60_000
