import type { Clock, Timer } from '../../core/clock.ts'
import { Emitter } from '../../core/emitter.ts'
import { invalidOption, SluiceError } from '../../core/errors.ts'
import type { Redis } from '../../redis/redis.ts'
import type { Member, Membership, Presence, PresenceChange, PresenceEvents, PresenceStats } from './presence.ts'
import { PresenceStore, parseData } from './presence-store.ts'

export interface RedisPresenceOptions {
  readonly prefix: string
  readonly ttlMs: number
  readonly beatMs: number
  readonly graceMs: number
  readonly redisDeadlineMs: number
  readonly clock: Clock
  readonly release: () => Promise<void>
}

/** A member as this process has it: how many connections, and whether the last one has just ended. */
interface LocalMember {
  connections: number
  data: string
  leaving: Timer | undefined
}

/** Presence over a shared Redis handle. A beat renews the process, and with it all of its members. */
export class RedisPresence implements Presence {
  readonly #options: RedisPresenceOptions
  readonly #redis: Redis
  readonly #store: PresenceStore
  readonly #events = new Emitter<PresenceEvents>()
  readonly #channels = new Map<string, Map<string, LocalMember>>()
  #timer: Timer | undefined
  #beatAtMs = Number.NEGATIVE_INFINITY
  #mustRejoin = false
  /** By channel: members to be written at the end of this turn of the event loop. */
  #unsent = new Map<string, Map<string, LocalMember>>()
  #flushing: Promise<void> | undefined
  /** Leaves that did not reach Redis. */
  readonly #pendingLeaves: [channel: string, id: string][] = []
  #closed = false

  constructor(redis: Redis, options: RedisPresenceOptions) {
    this.#redis = redis
    this.#options = options
    this.#store = new PresenceStore(redis, options.prefix, options.redisDeadlineMs)
  }

  /** The first beat, before anybody joins: members of a process that does not live are not listed. */
  start(): Promise<void> {
    return this.#beat()
  }

  async join(channel: string, id: string, data: unknown = null): Promise<Membership> {
    if (this.#closed) throw new SluiceError('SLUICE_CLOSED', 'presence was closed before the call')
    for (const [name, value] of Object.entries({ channel, id }))
      if (typeof value !== 'string' || value === '') throw invalidOption(`join ${name}`, value, 'use a text')
    const text = JSON.stringify(data) ?? 'null'
    const local = this.#channels.get(channel) ?? new Map<string, LocalMember>()
    this.#channels.set(channel, local)
    const member = local.get(id) ?? { connections: 0, data: '', leaving: undefined }
    local.set(id, member)
    member.connections += 1
    this.#options.clock.clearTimeout(member.leaving)
    member.leaving = undefined
    let isOver = false
    const membership: Membership = {
      channel,
      id,
      update: (next) => this.#write(channel, id, member, JSON.stringify(next) ?? 'null'),
      leave: () => {
        if (!isOver) this.#disconnect(channel, id, member)
        isOver = true
      },
    }
    await this.#write(channel, id, member, text)
    return membership
  }

  list(channel: string): Promise<Member[]> {
    return this.#store.list(channel)
  }

  count(channel: string): Promise<number> {
    return this.#store.count(channel)
  }

  watch(channel: string, listener: (change: PresenceChange) => void): () => void {
    return this.#redis.subscribe(this.#store.keys.changes(channel), {
      message: (text) => {
        const { type, id, data } = JSON.parse(text) as { type: PresenceChange['type']; id: string; data: string }
        listener({ type, id, data: parseData(data) })
      },
    })
  }

  async publish(channel: string, message: string): Promise<void> {
    await this.#redis.publish(this.#store.keys.messages(channel), message)
  }

  subscribe(channel: string, listener: (message: string) => void): () => void {
    return this.#redis.subscribe(this.#store.keys.messages(channel), { message: listener })
  }

  on<Name extends keyof PresenceEvents>(name: Name, listener: (event: PresenceEvents[Name]) => void): () => void {
    return this.#events.on(name, listener)
  }

  stats(): PresenceStats {
    let members = 0
    for (const local of this.#channels.values()) members += local.size
    return { channels: this.#channels.size, members, lastBeatMs: this.#options.clock.monotonic() - this.#beatAtMs }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#options.clock.clearTimeout(this.#timer)
    const channels = [...this.#channels]
    this.#channels.clear()
    try {
      for (const [channel, local] of channels) {
        for (const member of local.values()) this.#options.clock.clearTimeout(member.leaving)
        await this.#store.leave(channel, [...local.keys()])
      }
      await this.#store.end()
    } catch (error) {
      // The members vanish when this process' time is over.
      this.#events.emit('failed', { operation: 'write', error })
    }
    await this.#options.release()
  }

  /** Writes a member with all others that join or change in the same turn of the event loop. */
  #write(channel: string, id: string, member: LocalMember, data: string): Promise<void> {
    if (member.data === data) return this.#flushing ?? Promise.resolve()
    member.data = data
    const unsent = this.#unsent.get(channel) ?? new Map<string, LocalMember>()
    this.#unsent.set(channel, unsent)
    unsent.set(id, member)
    this.#flushing ??= new Promise((resolve) => setImmediate(() => void this.#flush().then(resolve)))
    return this.#flushing
  }

  async #flush(): Promise<void> {
    this.#flushing = undefined
    const unsent = this.#unsent
    this.#unsent = new Map()
    try {
      for (const [channel, members] of unsent) await this.#rejoin(channel, members)
    } catch (error) {
      this.#mustRejoin = true
      this.#events.emit('failed', { operation: 'write', error })
    }
  }

  #disconnect(channel: string, id: string, member: LocalMember): void {
    member.connections -= 1
    if (member.connections > 0 || this.#closed) return
    member.leaving = this.#options.clock.setTimeout(() => void this.#left(channel, id, member), this.#options.graceMs)
    member.leaving.unref?.()
  }

  async #left(channel: string, id: string, member: LocalMember): Promise<void> {
    const local = this.#channels.get(channel)
    if (local?.get(id) !== member || member.connections > 0) return
    local.delete(id)
    if (local.size === 0) this.#channels.delete(channel)
    try {
      await this.#store.leave(channel, [id])
      if (!this.#channels.has(channel)) await this.#store.forgetChannel(channel)
      // Somebody may have joined while the channel was being forgotten.
      const again = this.#channels.get(channel)
      if (again) await this.#rejoin(channel, again)
    } catch (error) {
      // With the next beat all is written anew; the member that left is removed then.
      this.#pendingLeaves.push([channel, id])
      this.#events.emit('failed', { operation: 'write', error })
    }
  }

  async #beat(): Promise<void> {
    const { ttlMs, beatMs, clock } = this.#options
    let waitMs = beatMs
    try {
      const askedMs = clock.monotonic()
      const { lives, dead, nextDeathMs } = await this.#store.beat(ttlMs)
      this.#beatAtMs = askedMs
      if (!lives) {
        this.#store.beNew()
        await this.#store.beat(ttlMs)
      }
      if (!lives || this.#mustRejoin) await this.#rejoinAll()
      for (const [channel, id] of this.#pendingLeaves.splice(0))
        if (!this.#channels.get(channel)?.has(id)) await this.#store.leave(channel, [id])
      for (const process of dead) await this.#sweep(process)
      // Whoever dies next is noticed shortly after, not only with the beat after that.
      if (nextDeathMs !== undefined) waitMs = Math.min(waitMs, Math.max(nextDeathMs + 20, beatMs / 10))
    } catch (error) {
      this.#events.emit('failed', { operation: 'beat', error })
      waitMs = beatMs / 10
    }
    if (this.#closed) return
    this.#timer = clock.setTimeout(() => void this.#beat(), waitMs)
    this.#timer.unref?.()
  }

  async #rejoinAll(): Promise<void> {
    this.#mustRejoin = false
    let members = 0
    try {
      for (const [channel, local] of this.#channels) {
        await this.#rejoin(channel, local)
        members += local.size
      }
    } catch (error) {
      this.#mustRejoin = true
      throw error
    }
    this.#events.emit('rejoined', { members })
  }

  #rejoin(channel: string, local: ReadonlyMap<string, LocalMember>): Promise<void> {
    return this.#store.join(
      channel,
      [...local].map(([id, { data }]) => [id, data] as const),
    )
  }

  async #sweep(process: string): Promise<void> {
    try {
      const channels = await this.#store.sweep(process)
      if (channels !== undefined) this.#events.emit('swept', { process, channels })
    } catch (error) {
      this.#events.emit('failed', { operation: 'sweep', error })
    }
  }
}
