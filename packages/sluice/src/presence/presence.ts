import type { CloseOptions, Part } from '../runtime/part.ts'

/** A user or client that is connected to a channel. */
export interface Member {
  readonly id: string
  /** Their data from `join` or `update`; the latest of any process. */
  readonly data: unknown
}

/** What happened to a member. An update is never a leave and a join. */
export interface PresenceChange extends Member {
  readonly type: 'join' | 'update' | 'leave'
}

/** One connection of a member to a channel. */
export interface Membership {
  readonly channel: string
  readonly id: string
  /** Changes the data of the member. */
  update(data: unknown): Promise<void>
  /** Ends the connection. If it was the last of the member, and none follows within the grace, the member has left. */
  leave(): void
}

/** Receives a message, with its id and the name of its event. */
export type MessageListener = (
  message: unknown,
  info: { readonly id: string; readonly event: string | undefined },
) => void

/** The names of all events. */
export const presenceEventNames: Readonly<Record<keyof PresenceEvents, true>> = {
  swept: true,
  rejoined: true,
  failed: true,
}

export interface PresenceEvents {
  /** The members of a process that died were removed. */
  swept: { readonly process: string; readonly channels: number }
  /** This process was declared dead, or Redis was wiped: its members were added again. */
  rejoined: { readonly members: number }
  /** A beat or another write did not reach Redis; it is retried. */
  failed: { readonly operation: 'beat' | 'write' | 'sweep'; readonly error: unknown }
}

export interface PresenceStats {
  readonly channels: number
  readonly members: number
  /** When the last beat was answered, in milliseconds before now. */
  readonly lastBeatMs: number
}

/** Who is connected to which channel, over all processes. */
export interface Presence extends Part<PresenceEvents> {
  readonly name: string
  /** Adds a connection of a member to a channel, here. Resolves when it is in Redis, or will be with the next beat. */
  join(channel: string, id: string, data?: unknown): Promise<Membership>
  /** Everybody in a channel. */
  list(channel: string): Promise<Member[]>
  /** How many are in a channel. */
  count(channel: string): Promise<number>
  /** Calls the listener with each change of a channel from now on. */
  watch(channel: string, listener: (change: PresenceChange) => void): () => void
  /**
   * Sends a message, which may be any JSON value, to the subscribers of a channel in all processes. `event` is its name
   * in event streams.
   */
  publish(channel: string, message: unknown, options?: { readonly event?: string }): Promise<void>
  /**
   * Calls the listener with each message that is published to a channel from now on; with `after`, the id of a message,
   * first with those after it that are still kept. What is missed while Redis is away follows, as far as it is kept.
   */
  subscribe(channel: string, listener: MessageListener, options?: { readonly after?: string }): () => void
  stats(): PresenceStats
  /**
   * Removes the members of this process at once and ends its subscriptions. Members that Redis has not removed within
   * the time expire with this process.
   */
  close(options?: CloseOptions): Promise<void>
}
