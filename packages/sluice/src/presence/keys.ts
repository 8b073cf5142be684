import { encodeKey } from '../core/key.ts'

/** The Redis keys of one presence, under its prefix (`sluice:#presence/<service>/<name>/`). */
export interface PresenceKeys {
  /** A sorted set of processes. */
  readonly processes: string
  /** The channels that a process has members in; in the slot of `processes`. */
  channelsOf(process: string): string
  /** The lock for the removal of a dead process's members. */
  sweepOf(process: string): string
  /** Members of a channel, and how many of them each process has; in one slot. */
  channel(name: string): [string, string]
  /** Where joins, updates and leaves are published. */
  changes(name: string): string
  /** Where messages to the subscribers are published. */
  messages(name: string): string
  /** A stream of the last messages. */
  kept(name: string): string
}

export function presenceKeys(prefix: string): PresenceKeys {
  const processes = `{${prefix}#processes}`
  return {
    processes,
    channelsOf: (process) => `${processes}!${process}`,
    sweepOf: (process) => `${processes}!sweep/${process}`,
    channel: (name) => [`${prefix}${encodeKey(name)}`, `{${prefix}${encodeKey(name)}}!counts`],
    changes: (name) => `${prefix}#changes/${encodeKey(name)}`,
    messages: (name) => `${prefix}#messages/${encodeKey(name)}`,
    kept: (name) => `${prefix}#kept/${encodeKey(name)}`,
  }
}
