import { checkOptionNames } from '../core/check-options.ts'
import type { Clock, Timer } from '../core/clock.ts'
import { invalidOption, SluiceError } from '../core/errors.ts'
import { callListener, Emitter } from '../core/observe/emitter.ts'
import type { Subscriber } from '../redis/messages.ts'
import { missingRight } from '../redis/missing-right.ts'
import type { Redis } from '../redis/redis.ts'
import { redisQuestion } from '../redis/redis-question.ts'
import { type CloseOptions, closeInTime, closeWithinMs, type HealthQuestion, type PartHealth } from '../runtime/part.ts'
import { MemberWriter } from './member-writer.ts'
import { isMessageId, MessageFollower, writeMessage } from './messages.ts'
import {
  type Member,
  type Membership,
  type MessageListener,
  type Presence,
  type PresenceChange,
  type PresenceEvents,
  type PresenceStats,
  presenceEventNames,
} from './presence.ts'
import { PresenceStore, parseChange, type ReplayLimits } from './presence-store.ts'

export interface RedisPresenceOptions {
  readonly name: string
  readonly prefix: string
  readonly ttlMs: number
  readonly beatMs: number
  readonly graceMs: number
  readonly redisDeadlineMs: number
  readonly replay: ReplayLimits
  readonly clock: Clock
  /** Called when it is closed. */
  readonly release: () => Promise<void>
}

/** A member in this process: how many connections, and whether the last one has just ended. */
interface LocalMember {
  connections: number
  data: string
  leaving: Timer | undefined
}

/** Presence over a shared Redis handle. A beat renews the process, and with it all of its members. */
export class RedisPresence implements Presence {
  readonly name: string
  readonly #options: RedisPresenceOptions
  readonly #redis: Redis
  readonly #store: PresenceStore
  readonly #events = new Emitter<PresenceEvents>(presenceEventNames)
  readonly #channels = new Map<string, Map<string, LocalMember>>()
  #timer: Timer | undefined
  readonly #writer: MemberWriter
  #beatAtMs = Number.NEGATIVE_INFINITY
  #isBeating = false
  /** Why the last beat or write failed, until a beat is answered. */
  #lastFailure: unknown
  /** Earlier ids of this process: what it wrote before it noticed that it was declared dead must still be removed. */
  readonly #formerIds = new Set<string>()
  readonly #isAnswering: HealthQuestion<boolean>
  readonly #subscriptions = new Set<() => void>()
  /** Why the last subscription was refused, until one is not. */
  #refusal: unknown
  #closing: Promise<void> | undefined

  constructor(redis: Redis, options: RedisPresenceOptions) {
    this.name = options.name
    this.#redis = redis
    this.#options = options
    this.#isAnswering = redisQuestion(redis, options.clock)
    this.#store = new PresenceStore(redis, options.prefix, options.redisDeadlineMs)
    const local = {
      dataOf: (channel: string, id: string) => this.#channels.get(channel)?.get(id)?.data,
      has: (channel: string) => this.#channels.has(channel),
    }
    this.#writer = new MemberWriter(this.#store, local, (error) => {
      this.#lastFailure = error
      this.#events.emit('failed', { operation: 'write', error })
      this.#beatSoon()
    })
  }

  /** The first beat, before any join: members of a process that is not alive are not listed. */
  start(): Promise<void> {
    return this.#beat()
  }

  async join(channel: string, id: string, data: unknown = null): Promise<Membership> {
    this.#checkOpen()
    checkName('join channel', channel)
    checkName('join id', id)
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

  async list(channel: string): Promise<Member[]> {
    this.#checkOpen()
    return this.#store.list(channel)
  }

  async count(channel: string): Promise<number> {
    this.#checkOpen()
    return this.#store.count(channel)
  }

  watch(channel: string, listener: (change: PresenceChange) => void): () => void {
    if (typeof listener !== 'function') throw invalidOption('watch listener', listener, 'pass a function')
    return this.#subscribe(this.#store.keys.changes(channel), {
      message(text) {
        const change = parseChange(text)
        if (change) callListener(listener, change)
      },
    })
  }

  async publish(channel: string, message: unknown, options: { readonly event?: string } = {}): Promise<void> {
    checkOptionNames('publish', options, ['event'])
    const text = writeMessage(message, options.event)
    this.#checkOpen()
    await this.#store.publish(channel, text, this.#options.replay)
  }

  subscribe(channel: string, listener: MessageListener, options: { readonly after?: string } = {}): () => void {
    if (typeof listener !== 'function') throw invalidOption('subscribe listener', listener, 'pass a function')
    checkOptionNames('subscribe', options, ['after'])
    // Clients send what they like: what is no id asks for nothing.
    const after = isMessageId(options.after) ? options.after : undefined
    const readSince = (since: string | number) => this.#store.messagesSince(channel, since)
    const follower = new MessageFollower(listener, after, readSince, this.#options.clock)
    return this.#subscribe(this.#store.keys.messages(channel), {
      message: (text) => follower.receive(text),
      ready: () => void follower.ready(),
      lost: () => follower.lost(),
    })
  }

  on<Name extends keyof PresenceEvents>(name: Name, listener: (event: PresenceEvents[Name]) => void): () => void {
    return this.#events.on(name, listener)
  }

  stats(): PresenceStats {
    let members = 0
    for (const local of this.#channels.values()) members += local.size
    return { channels: this.#channels.size, members, lastBeatMs: this.#options.clock.monotonic() - this.#beatAtMs }
  }

  async health(): Promise<PartHealth> {
    if (this.#closing) return { ready: false, reasons: ['The presence is closed.'], warnings: [] }
    const isAnswering = await this.#isAnswering.answer()
    const { lastBeatMs } = this.stats()
    const right = missingRight(this.#lastFailure ?? this.#refusal)
    const reasons = [
      ...(right !== undefined ? [right] : isAnswering ? [] : ['Redis does not answer.']),
      ...(lastBeatMs < this.#options.ttlMs
        ? []
        : ['The members of this process are not listed: its last beat is older than the ttl.']),
    ]
    return { ready: reasons.length === 0, reasons, warnings: [] }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async close(options: CloseOptions = {}): Promise<void> {
    const withinMs = closeWithinMs('presence.close', options)
    this.#closing ??= this.#close(withinMs)
    return this.#closing
  }

  async #close(withinMs: number | undefined): Promise<void> {
    const { clock, release } = this.#options
    clock.clearTimeout(this.#timer)
    for (const unsubscribe of this.#subscriptions) unsubscribe()
    const inTime = closeInTime(withinMs, clock)
    await inTime(this.#removeAll())
    await inTime(release())
  }

  async #removeAll(): Promise<void> {
    const channels = [...this.#channels]
    this.#channels.clear()
    for (const [channel, local] of channels)
      for (const [id, member] of local) {
        this.#options.clock.clearTimeout(member.leaving)
        this.#writer.mark(channel, id)
      }
    // If this fails, the members are removed when this process expires.
    await this.#writer.write()
    if (!this.#writer.isBehind)
      await this.#store.end().catch((error) => this.#events.emit('failed', { operation: 'write', error }))
  }

  #checkOpen(): void {
    if (this.#closing)
      throw new SluiceError('SLUICE_CLOSED', 'The presence is closed; make a new one with createPresence.')
  }

  #subscribe(channel: string, subscriber: Subscriber): () => void {
    this.#checkOpen()
    const end = this.#redis.subscribe(channel, {
      ...subscriber,
      ready: () => {
        this.#refusal = undefined
        subscriber.ready?.()
      },
      refused: (error) => {
        this.#refusal = error
      },
    })
    this.#subscriptions.add(end)
    return () => {
      this.#subscriptions.delete(end)
      end()
    }
  }

  /** Writes a member with all others that join or change in the same turn of the event loop. */
  #write(channel: string, id: string, member: LocalMember, data: string): Promise<void> {
    member.data = data
    this.#writer.mark(channel, id)
    return this.#writer.write()
  }

  #disconnect(channel: string, id: string, member: LocalMember): void {
    member.connections -= 1
    if (member.connections > 0 || this.#closing) return
    member.leaving = this.#options.clock.setTimeout(() => this.#left(channel, id, member), this.#options.graceMs)
    member.leaving.unref?.()
  }

  #left(channel: string, id: string, member: LocalMember): void {
    const local = this.#channels.get(channel)
    if (local?.get(id) !== member || member.connections > 0) return
    local.delete(id)
    if (local.size === 0) this.#channels.delete(channel)
    this.#writer.mark(channel, id)
    void this.#writer.write()
  }

  async #beat(): Promise<void> {
    const { ttlMs, beatMs, clock } = this.#options
    let waitMs = beatMs
    this.#isBeating = true
    try {
      const askedMs = clock.monotonic()
      const { lives, dead, nextDeathMs } = await this.#store.beat(ttlMs)
      this.#beatAtMs = askedMs
      this.#lastFailure = undefined
      if (!lives) await this.#comeBack()
      else if (this.#writer.isBehind) await this.#writer.write()
      for (const process of [...dead, ...this.#formerIds]) await this.#sweep(process)
      // The next death is noticed shortly after it happens, not only with the beat after that.
      if (nextDeathMs !== undefined) waitMs = Math.min(waitMs, Math.max(nextDeathMs + 20, beatMs / 10))
      if (this.#writer.isBehind) waitMs = beatMs / 10
    } catch (error) {
      this.#lastFailure = error
      this.#events.emit('failed', { operation: 'beat', error })
      waitMs = beatMs / 10
    }
    this.#isBeating = false
    this.#beatIn(waitMs)
  }

  /** What did not reach Redis is retried before the next beat is due. */
  #beatSoon(): void {
    if (!this.#isBeating) this.#beatIn(this.#options.beatMs / 10)
  }

  #beatIn(ms: number): void {
    const { clock } = this.#options
    clock.clearTimeout(this.#timer)
    if (this.#closing) return
    this.#timer = clock.setTimeout(() => void this.#beat(), ms)
    this.#timer.unref?.()
  }

  /** This process was declared dead, or Redis was wiped: it continues under a new id and adds its members again. */
  async #comeBack(): Promise<void> {
    await this.#writer.idle()
    this.#formerIds.add(this.#store.beNew())
    for (const [channel, local] of this.#channels) for (const id of local.keys()) this.#writer.mark(channel, id)
    await this.#store.beat(this.#options.ttlMs)
    const { members } = this.stats()
    await this.#writer.write()
    if (!this.#writer.isBehind) this.#events.emit('rejoined', { members })
  }

  async #sweep(process: string): Promise<void> {
    try {
      const channels = await this.#store.sweep(process)
      if (channels === undefined) return
      if (!this.#formerIds.delete(process)) this.#events.emit('swept', { process, channels })
    } catch (error) {
      this.#events.emit('failed', { operation: 'sweep', error })
    }
  }
}

function checkName(what: string, value: unknown): void {
  if (typeof value !== 'string' || value === '') throw invalidOption(what, value, 'use a text')
}
