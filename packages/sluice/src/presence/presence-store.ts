import { randomUUID } from 'node:crypto'
import { encodeKey } from '../core/key.ts'
import { unknownFormat } from '../redis/failure.ts'
import type { MsgpackReader } from '../redis/msgpack.ts'
import type { Redis } from '../redis/redis.ts'
import type { Script } from '../redis/script.ts'
import type { MemberSink } from './member-writer.ts'
import { type Published, readMessage } from './messages.ts'
import type { Member, PresenceChange } from './presence.ts'
import { beat, join, leave, members, processes, publish, sweep } from './scripts.gen.ts'

/** How many messages of a channel are kept, and for how long after the last one. */
export interface ReplayLimits {
  readonly messages: number
  readonly withinMs: number
}

export interface Beat {
  /** Whether the process counts as alive. If not, it was declared dead: its members are being removed. */
  readonly lives: boolean
  readonly dead: readonly string[]
  /** In how many milliseconds the next process expires unless it beats; undefined for none. */
  readonly nextDeathMs: number | undefined
}

/** How many members of a channel are looked at in one step of a sweep. */
const membersPerCall = 500
const sweepMs = 30_000
/** The byte that starts a record of a later format is no text, see redis/lua/format.lua. */
const laterFormat = '\uFFFD'
const changeTypes = ['join', 'update', 'leave'] as const

/** What presence does in Redis, for one process. */
export class PresenceStore implements MemberSink {
  readonly #redis: Redis
  readonly #withinMs: number
  #process = randomUUID() as string
  #isNew = true
  readonly keys: PresenceKeys

  constructor(redis: Redis, prefix: string, withinMs: number) {
    this.#redis = redis
    this.#withinMs = withinMs
    this.keys = presenceKeys(prefix)
  }

  /** Continues under a new id, because what was written under the last one is being removed. Returns the last one. */
  beNew(): string {
    const last = this.#process
    this.#process = randomUUID()
    this.#isNew = true
    return last
  }

  async beat(ttlMs: number): Promise<Beat> {
    const args = [this.#process, String(ttlMs * 1000), this.#isNew ? '1' : '0']
    const { reply, nowUs } = await this.#run(beat, [this.keys.processes], args)
    const lives = reply.read() === 1
    if (lives) this.#isNew = false
    const dead = reply.read() as string[]
    const nextUs = Number(reply.read())
    return { lives, dead, nextDeathMs: nextUs === 0 ? undefined : Math.max(0, (nextUs - nowUs) / 1000) }
  }

  /**
   * Records that this process has members in a channel, then adds them: in this order, so that a sweep finds them all.
   */
  async join(channel: string, joining: readonly (readonly [id: string, data: string])[]): Promise<void> {
    const { processes: key } = this.keys
    // Under one id, even if the process gets a new one meanwhile.
    const process = this.#process
    await this.#redis.command(['SADD', this.keys.channelsOf(process), toWire(channel)], this.#options(key))
    await this.#run(join, this.keys.channel(channel), [
      process,
      this.keys.changes(channel),
      ...joining.flatMap(([id, data]) => [toWire(id), data]),
    ])
  }

  async leave(channel: string, ids: readonly string[]): Promise<void> {
    await this.#run(leave, this.keys.channel(channel), [this.#process, this.keys.changes(channel), ...ids.map(toWire)])
  }

  /** This process has no member in the channel any more. */
  async forgetChannel(channel: string): Promise<void> {
    const { processes: key } = this.keys
    await this.#redis.command(['SREM', this.keys.channelsOf(this.#process), toWire(channel)], this.#options(key))
  }

  async count(channel: string): Promise<number> {
    const [{ reply }, alive] = await Promise.all([this.#members(channel, '0'), this.#alive()])
    const noted = Number(reply.read())
    const homes = reply.read() as string[]
    if (homes.every((process) => alive.has(process))) return noted
    // A process died and was not swept yet: count the members that are still in another process.
    return (await this.list(channel)).length
  }

  async list(channel: string): Promise<Member[]> {
    const [{ reply }, alive] = await Promise.all([this.#members(channel, '1'), this.#alive()])
    reply.read()
    reply.read()
    const flat = reply.read() as string[]
    const found: Member[] = []
    for (let i = 0; i < flat.length; i += 2) {
      const record = flat[i + 1]!
      if (record.startsWith(laterFormat)) throw unknownFormat(this.keys.channel(channel)[0])
      const homes = Object.entries(JSON.parse(record) as Record<string, string>)
      const home = homes.find(([process]) => alive.has(process))
      if (home) found.push({ id: fromWire(flat[i]!), data: parseData(home[1]) })
    }
    return found
  }

  /** Removes the members of a dead process; undefined when another process already does. */
  async sweep(dead: string): Promise<number | undefined> {
    const options = this.#options(this.keys.processes)
    const claim = ['SET', this.keys.sweepOf(dead), this.#process, 'NX', 'PX', String(sweepMs)]
    if ((await this.#redis.command(claim, options)) === null) return undefined
    const channels = (await this.#redis.command(['SMEMBERS', this.keys.channelsOf(dead)], options)) as string[]
    for (const channel of channels.map(fromWire)) {
      let cursor = '0'
      do {
        const args = [dead, this.keys.changes(channel), cursor, String(membersPerCall)]
        const { reply } = await this.#run(sweep, this.keys.channel(channel), args)
        cursor = String(reply.read())
      } while (cursor !== '0')
    }
    await this.#redis.command(['ZREM', this.keys.processes, dead], options)
    await this.#redis.command(['DEL', this.keys.channelsOf(dead), this.keys.sweepOf(dead)], options)
    return channels.length
  }

  /** Sends a message, and keeps it for those who come back. */
  async publish(channel: string, text: string, { messages, withinMs }: ReplayLimits): Promise<void> {
    const args = [this.keys.messages(channel), text, String(messages), String(withinMs)]
    await this.#run(publish, [this.keys.kept(channel)], args)
  }

  /** The messages of a channel from one on, or of the last milliseconds, as far as they are kept. */
  async messagesSince(channel: string, since: string | number): Promise<Published[]> {
    const key = this.keys.kept(channel)
    const from = typeof since === 'string' ? since : String(Math.floor((await this.#nowMs(key)) - since))
    const found = (await this.#redis.command(['XRANGE', key, from, '+'], this.#options(key))) as [string, string[]][]
    return found.flatMap(([each, [, text = '']]) => readMessage(String(each), String(text)) ?? [])
  }

  /** This process ends: it is no longer listed as alive. */
  async end(): Promise<void> {
    const options = this.#options(this.keys.processes)
    await this.#redis.command(['ZREM', this.keys.processes, this.#process], options)
    await this.#redis.command(['DEL', this.keys.channelsOf(this.#process)], options)
  }

  /** The time of the server that makes the ids of messages. */
  async #nowMs(key: string): Promise<number> {
    const [seconds, micros] = (await this.#redis.command(['TIME'], this.#options(key))) as [unknown, unknown]
    return Number(seconds) * 1000 + Number(micros) / 1000
  }

  #members(channel: string, all: '0' | '1'): Promise<{ readonly reply: MsgpackReader }> {
    return this.#run(members, this.keys.channel(channel), [all])
  }

  async #alive(): Promise<Set<string>> {
    const { reply } = await this.#run(processes, [this.keys.processes], [])
    return new Set(reply.read() as string[])
  }

  #run(script: Script, keys: readonly string[], args: readonly string[]): ReturnType<Redis['runScript']> {
    return this.#redis.runScript({ script, keys, args, withinMs: this.#withinMs })
  }

  #options(key: string): { readonly key: string; readonly withinMs: number } {
    return { key, withinMs: this.#withinMs }
  }
}

/** A text as Redis keeps it. UTF-8 cannot write lone surrogates: two ids with different ones would become one. */
function toWire(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** Reads what `toWire` wrote, and leaves anything else as it is. */
function fromWire(text: string): string {
  const read = parseData(`"${text}"`)
  return typeof read === 'string' ? read : text
}

/** Data is written as JSON by the process that joined; anything else is returned as text. */
function parseData(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Reads a published change. Any client may publish to a channel, so anything else is ignored. */
export function parseChange(text: string): PresenceChange | undefined {
  const change = parseData(text) as { type?: unknown; id?: unknown; data?: unknown } | null
  const type = changeTypes.find((each) => each === change?.type)
  if (type === undefined || typeof change?.id !== 'string' || typeof change.data !== 'string') return undefined
  return { type, id: fromWire(change.id), data: parseData(change.data) }
}

/** The Redis keys of one presence, under its prefix (`sluice:#presence/<service>/<name>/`). */
interface PresenceKeys {
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

function presenceKeys(prefix: string): PresenceKeys {
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
