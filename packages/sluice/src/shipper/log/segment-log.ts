import { join } from 'node:path'
import { codeOf, isNoSpace, quietly } from '../files/file-system.ts'
import { type AdoptOptions, adopt } from './adopt.ts'
import { type Checkpoint, CheckpointFile, type Gap, maxGaps, maxProducers, readCheckpoint } from './checkpoint.ts'
import { measureSegment, Segment } from './segment/segment.ts'
import { openFileOf, parseSegmentName, type SegmentName, sealedFileOf } from './segment/segment-name.ts'
import type { ReaderEvents } from './segment/segment-reader.ts'
import type { StoredEvent } from './segment/stored-event.ts'
import { Windows } from './segment/windows.ts'
import type { ActiveSegment } from './writer.ts'

export interface SegmentLogOptions extends AdoptOptions {
  readonly events: ReaderEvents
  /** A segment could not be used; it is left unchanged. */
  readonly onProblem: (error: unknown, what: string) => void
}

const byName = (a: SegmentName, b: SegmentName): number => (a.name < b.name ? -1 : 1)

/** This process is no longer the owner; only the new owner may ship from this directory. */
export class OwnershipLost extends Error {}

/**
 * All segments of a directory, in the order in which they are shipped: by name, which is by time across producers and
 * by number within one. Only the owner has one. Memory does not grow with the number of pending events, only (little)
 * with the number of segments.
 */
export class SegmentLog {
  readonly #options: SegmentLogOptions
  readonly #checkpoint: CheckpointFile
  readonly #segments = new Map<string, Segment>()
  #ordered: Segment[] = []
  readonly #windows = new Windows()
  #expected = new Map<string, number>()
  #positions: Checkpoint['positions']
  readonly #gaps: Gap[]
  /** Segments that could not be read since the last refresh, with the reason. */
  readonly #unreadable = new Map<string, unknown>()

  private constructor(options: SegmentLogOptions, epoch: number, { positions, expected, gaps }: Checkpoint) {
    this.#options = options
    this.#checkpoint = new CheckpointFile(options.fs, options.dir, epoch)
    this.#positions = positions
    this.#expected = new Map(Object.entries(expected))
    this.#gaps = [...gaps]
  }

  static async open(options: SegmentLogOptions, epoch: number): Promise<SegmentLog> {
    const checkpoint = await readCheckpoint(options.fs, options.dir, await options.fs.list(options.dir))
    return new SegmentLog(options, epoch, checkpoint)
  }

  /**
   * Whether there may be events that were not taken yet. The rest of a damaged segment cannot be counted, so this is a
   * boolean.
   */
  get hasMore(): boolean {
    return this.#ordered.some((segment) => (segment.sealed ? !segment.isDone : segment.shipped.offset < segment.size))
  }

  /** Segments that could not be read since the last refresh, with the reason; their events are still pending. */
  get unreadable(): ReadonlyMap<string, unknown> {
    return this.#unreadable
  }

  /** Of a segment whose beginning or end cannot be read it is known only that something is pending. */
  get pending(): number {
    const unknown = [...this.#unreadable.keys()].filter((name) => !this.#segments.has(name)).length
    return this.#ordered.reduce((sum, segment) => sum + segment.pending, unknown)
  }

  get bytes(): number {
    return this.#ordered.reduce((sum, segment) => sum + segment.size, 0)
  }

  /** When the oldest pending event was stored, or a little earlier. */
  get oldestMs(): number | undefined {
    return this.#ordered.find((segment) => segment.pending > 0)?.shippedMs
  }

  /**
   * Looks for segments that were added, adopts those of processes that are gone, and reads how far the own writer has
   * come. A listing may miss a name that changes meanwhile (POSIX leaves it open), and shipping a later segment first
   * would mark the earlier one as shipped: so where one seems to be missing, it lists again.
   */
  async refresh(active: ActiveSegment | undefined): Promise<void> {
    this.#unreadable.clear()
    const added = await this.#look(active)
    if (added.some((segment) => this.#hasGapBefore(segment))) await this.#look(active)
  }

  async #look(active: ActiveSegment | undefined): Promise<readonly Segment[]> {
    const { fs, dir } = this.#options
    const found = (await fs.list(dir)).map(parseSegmentName).filter((parsed) => parsed !== undefined)
    found.sort(byName)
    const latest = new Map(found.map(({ producer, number }) => [producer, number]))
    const added: Segment[] = []
    const unreadable = new Set<string>()
    for (const parsed of found) {
      // Its later segments wait too, for the same reason as in `take`.
      if (unreadable.has(parsed.producer)) continue
      try {
        const segment = await this.#find(parsed, active, latest.get(parsed.producer) === parsed.number)
        if (segment !== undefined) added.push(segment)
      } catch (error) {
        unreadable.add(parsed.producer)
        if (codeOf(error) === 'ENOENT') continue
        this.#unreadable.set(parsed.name, error)
        this.#options.onProblem(error, `segment ${parsed.name}`)
      }
    }
    const own = active === undefined ? undefined : this.#segments.get(active.name)
    if (own !== undefined && !own.sealed) Object.assign(own, { size: active?.size, nextSeq: active?.nextSeq })
    this.#ordered = [...this.#segments.values()].sort((a, b) => byName(a.info, b.info))
    return added
  }

  /** Adds a segment that is on the disk; returns it if it is new. */
  async #find(
    parsed: NonNullable<ReturnType<typeof parseSegmentName>>,
    active: ActiveSegment | undefined,
    isLatest: boolean,
  ): Promise<Segment | undefined> {
    const { fs, dir } = this.#options
    const isActive = parsed.name === active?.name
    if (parsed.isOpen && !isActive && !(await adopt(this.#options, parsed, isLatest))) return undefined
    const known = this.#segments.get(parsed.name)
    if (known !== undefined && (known.sealed || isActive)) return undefined
    const sealedPath = join(dir, sealedFileOf(parsed.name))
    const path = fs.exists(sealedPath) ? sealedPath : join(dir, openFileOf(parsed.name))
    const measure = await measureSegment(fs, path, parsed)
    if (known !== undefined) {
      Object.assign(known, { size: measure.size, nextSeq: measure.nextSeq, sealed: true })
      return undefined
    }
    const segment = new Segment(parsed, measure, !isActive, this.#positions[parsed.name])
    this.#segments.set(parsed.name, segment)
    return segment
  }

  #hasGapBefore({ info, firstSeq }: Segment): boolean {
    const { producer, number } = info
    if (number === 0) return false
    const before = this.#ordered.findLast((other) => other.info.producer === producer && other.info.number < number)
    return firstSeq > (before?.nextSeq ?? this.#expected.get(producer) ?? 0)
  }

  /**
   * The next events after those already taken. They are valid until `rewind`, or a call with fewer `incomplete` batches
   * before it.
   */
  async take(maxEvents: number, maxBytes: number, incomplete = 0): Promise<StoredEvent[]> {
    const { fs, dir, onProblem } = this.#options
    const events: ReaderEvents = { ...this.#options.events, lost: (...missing) => this.#missed(...missing) }
    this.#windows.nextBatch(incomplete)
    const taken: StoredEvent[] = []
    const expected = new Map(this.#expected)
    const unreadable = new Set<string>()
    let bytes = 0
    for (const segment of this.#ordered) {
      const { name, producer, number } = segment.info
      // To continue with a later segment of the same producer would change the order, and skip the unreadable one
      // permanently.
      if (unreadable.has(producer)) continue
      // A producer that was forgotten (see `maxProducers`) may still have a segment of which a part was shipped.
      const first = segment.shipped.offset > 0 ? segment.shipped.seq : number === 0 ? 1 : undefined
      const known = this.#isLate(segment) ? first : (expected.get(producer) ?? first)
      const next = { expected: known, confirmedSeq: () => this.#confirmedAfter(segment) }
      try {
        const limits = { events: maxEvents, bytes: maxBytes - bytes }
        const [added, exhausted] = await segment.read(fs, dir, taken, limits, next, events, this.#windows)
        bytes += added
        this.#unreadable.delete(name)
        if (!exhausted) break
      } catch (error) {
        onProblem(error, `read ${name}`)
        await segment.rewind()
        if (codeOf(error) === 'ENOENT') this.#segments.delete(name)
        else {
          unreadable.add(producer)
          this.#unreadable.set(name, error)
        }
      }
      if (segment.readSeq !== undefined) expected.set(producer, Math.max(segment.readSeq, expected.get(producer) ?? 0))
    }
    this.#ordered = this.#ordered.filter(({ info }) => this.#segments.has(info.name))
    if (taken.length > 0) this.#windows.taken()
    return taken
  }

  /** Whether later events were shipped without it, because it was moved away: its numbers are sent all the same. */
  #isLate({ info, firstSeq }: Segment): boolean {
    return this.#gaps.some(([producer, from, to]) => producer === info.producer && from <= firstSeq && firstSeq < to)
  }

  #missed(producer: string, from: number, to: number): void {
    if (!this.#gaps.some((gap) => gap[0] === producer && gap[1] === from)) this.#gaps.push([producer, from, to])
    if (this.#gaps.length > maxGaps) this.#gaps.shift()
    this.#options.events.lost(producer, from, to)
  }

  /** A segment begins with the number after the last one that was confirmed before it. */
  #confirmedAfter({ info }: Segment): number {
    const later = this.#ordered.filter(
      (other) => other.info.producer === info.producer && other.info.number > info.number,
    )
    return Math.max(0, ...later.map(({ firstSeq }) => firstSeq))
  }

  /** Discards what was taken and not shipped. */
  async rewind(): Promise<void> {
    for (const segment of this.#ordered) await segment.rewind()
    this.#windows.clear()
  }

  /**
   * Records that these events, the first of those taken, were shipped; durable when it resolves. Then removes segments
   * that are complete.
   */
  async shipped(events: readonly StoredEvent[]): Promise<void> {
    for (const { segment, producer, seq, end, timeMs } of events) {
      const at = this.#segments.get(segment)
      if (at === undefined) continue
      at.shipped = { offset: end, seq: seq + 1 }
      at.shippedMs = timeMs
      this.#expect(producer, seq + 1)
    }
    await this.#record()
  }

  /** Removes the oldest segment that no process writes to, shipped or not; undefined if there is none. */
  async dropOldest(): Promise<Segment | undefined> {
    const oldest = this.#ordered.find((segment) => segment.sealed)
    if (oldest === undefined || !this.#options.isOwner()) return undefined
    const { producer } = oldest.info
    this.#expect(producer, oldest.nextSeq)
    await this.#remove(oldest)
    return oldest
  }

  /** Removes segments that are shipped, after the checkpoint that records it is durable. */
  async #record(): Promise<void> {
    if (!this.#options.isOwner()) throw new OwnershipLost('another process is the owner now')
    const started = [...this.#segments.values()].filter(({ shipped }) => shipped.offset > 0)
    const positions = Object.fromEntries(started.map(({ info, shipped }) => [info.name, shipped]))
    const done = this.#done
    const checkpoint = { positions, expected: Object.fromEntries(this.#expected), gaps: this.#gaps }
    try {
      await this.#checkpoint.write(checkpoint)
    } catch (error) {
      if (!isNoSpace(error) || done.length === 0) throw error
      // Only what these segments take up can make room for it. All of them was shipped, so that a crash before it is
      // written loses nothing.
      await this.#checkpoint.note(
        done.map(({ info }) => info.producer),
        checkpoint.expected,
      )
      await this.#removeAll(done)
      await this.#checkpoint.write(checkpoint)
    }
    this.#positions = positions
    await this.#removeAll(done)
    // Not for safety (a segment that reappears after a crash is known to be shipped) but so that it does not reappear.
    if (done.length > 0) await quietly(this.#options.fs.syncDir(this.#options.dir))
  }

  /**
   * Segments in which nothing is left to ship. Not those behind a pending one of the same producer: they may repeat
   * what that one has, which was never confirmed there.
   */
  get #done(): readonly Segment[] {
    const pending = new Set<string>()
    return this.#ordered.filter(({ isDone, info }) => {
      if (!isDone) pending.add(info.producer)
      return !pending.has(info.producer)
    })
  }

  async #removeAll(done: readonly Segment[]): Promise<void> {
    for (const segment of done) {
      if (!this.#options.isOwner()) throw new OwnershipLost('another process is the owner now')
      await this.#remove(segment)
    }
  }

  /** Removes segments in which nothing is left to ship. */
  async removeDone(): Promise<void> {
    if (this.#done.length > 0) await this.#record()
  }

  async close(): Promise<void> {
    await this.rewind()
    await this.#checkpoint.close()
  }

  /** The latest come last. Every short-lived process is a producer, so the oldest are forgotten. */
  #expect(producer: string, seq: number): void {
    // Never backwards: events of the next segment may have been shipped before this one is removed.
    const next = Math.max(seq, this.#expected.get(producer) ?? 0)
    this.#expected.delete(producer)
    this.#expected.set(producer, next)
    const [oldest] = this.#expected.keys()
    if (this.#expected.size > maxProducers && oldest !== undefined) this.#expected.delete(oldest)
  }

  async #remove(segment: Segment): Promise<void> {
    const { fs, dir, onProblem } = this.#options
    const { readSeq } = segment
    await segment.rewind()
    try {
      await fs.remove(join(dir, sealedFileOf(segment.info.name)))
    } catch (error) {
      // It stays on the disk and is found again; the checkpoint records that it was shipped.
      if (codeOf(error) !== 'ENOENT') return onProblem(error, `remove ${segment.info.name}`)
    }
    if (readSeq !== undefined) this.#expect(segment.info.producer, readSeq)
    this.#segments.delete(segment.info.name)
    this.#ordered = this.#ordered.filter((other) => other !== segment)
  }
}
