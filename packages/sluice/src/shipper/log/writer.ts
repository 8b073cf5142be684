import type { Clock, Timer } from '../../core/clock.ts'
import { type ErrorCode, isSluiceError, SluiceError } from '../../core/errors.ts'
import { codeOf, type FileSystem, isNoSpace, quietly } from '../files/file-system.ts'
import type { ProcessIdentity } from '../owner/process-identity.ts'
import type { Chunk } from './gathering.ts'
import { Gathering } from './gathering.ts'
import { OpenSegment } from './segment/open-segment.ts'
import { markRecord, saltOf } from './segment/record.ts'
import { newProducer } from './segment/segment-name.ts'

export type Durability = 'sync' | 'interval' | 'os'

export interface WriterOptions {
  readonly fs: FileSystem
  readonly dir: string
  readonly clock: Clock
  readonly identity: ProcessIdentity
  readonly durability: Durability
  readonly syncIntervalMs: number
  readonly segmentBytes: number
  /** The most that may be pending in memory; beyond it appends are refused. */
  readonly maxWaitingBytes: number
  readonly maxBytes: number
  /** Called before each commit; false refuses what was to be written. See `Room.make`. */
  readonly makeRoom: (bytes: number, noSpace: boolean, endSegment: () => Promise<void>) => Promise<boolean>
  /** So many records were stored; the files have grown by more or fewer bytes than they have. */
  readonly onWritten: (bytes: number, records: number, grownBytes: number) => void
  /** So many events were not stored; their promises were rejected with an error of this code. */
  readonly onRefused: (events: number, code: ErrorCode) => void
  readonly onFailure: (error: unknown, what: string) => void
}

/** The segment being written, as far as it is confirmed. */
export interface ActiveSegment {
  readonly name: string
  readonly size: number
  readonly nextSeq: number
}

/** How often one commit moves on to a new segment before it gives up. */
const attempts = 2

/**
 * Appends records with group commit: one commit (one write that the disk has confirmed) is in flight, and records that
 * arrive meanwhile are gathered for the next. A record's promise resolves when the sync that covers it is done.
 *
 * Every writer is a producer with its own files, so processes never share a file. When another process takes a segment
 * over (because it considered this one dead), it renames the file. The writer checks the name after each sync and
 * before it confirms; what it could not confirm it writes again, with the same sequence numbers, to a new segment.
 */
export class Writer {
  readonly producer: string = newProducer()
  readonly #options: WriterOptions
  readonly #salt: number = saltOf(this.producer)
  readonly #gathering: Gathering
  #segment: OpenSegment | undefined
  #segmentNumber = 0
  #lastCreatedMs = 0
  /** The sequence number after the last confirmed record. */
  #confirmedSeq = 1
  #running: Promise<void> | undefined
  #scheduled = false
  #sealRequested = false
  #closed = false
  #syncTimer: Timer | undefined

  constructor(options: WriterOptions) {
    this.#options = options
    // A commit must fit into a buffer that is almost empty.
    this.#gathering = new Gathering(Math.floor(options.maxBytes / 4))
  }

  /** The segment being written and how much of it is confirmed, for a reader in the same process. */
  get active(): ActiveSegment | undefined {
    const segment = this.#segment
    return segment === undefined ? undefined : { name: segment.name, size: segment.size, nextSeq: this.#confirmedSeq }
  }

  append(payload: string): Promise<string> {
    if (this.#closed || this.#gathering.bytes > this.#options.maxWaitingBytes) {
      const error = this.#closed ? closedError() : tooManyWaiting()
      this.#options.onRefused(1, error.code)
      return Promise.reject(error)
    }
    const added = this.#gathering.add(payload, this.#nowMs(), this.#salt)
    this.#schedule()
    return added
  }

  /** Ends the segment being written, so that another process can take it. */
  async seal(): Promise<void> {
    if (this.#segment === undefined) return
    this.#sealRequested = true
    await this.#settle()
  }

  /** Writes what is left and ends the producer. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#settle()
    this.#options.clock.clearTimeout(this.#syncTimer)
    await this.#endSegment(true)
  }

  /** Starts a commit after this turn of the event loop, so that all that is appended in the turn shares it. */
  #schedule(): void {
    if (this.#scheduled || this.#running !== undefined) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      void this.#run()
    })
  }

  /**
   * Runs until nothing is left to do: the current run may be past the point where it would have seen the latest
   * records.
   */
  async #settle(): Promise<void> {
    do await this.#run()
    while (!this.#gathering.isEmpty || this.#sealRequested)
  }

  #run(): Promise<void> {
    this.#running ??= this.#commitAll().finally(() => {
      this.#running = undefined
      if (!this.#gathering.isEmpty) this.#schedule()
    })
    return this.#running
  }

  async #commitAll(): Promise<void> {
    while (!this.#gathering.isEmpty) {
      const chunks = this.#gathering.take()
      chunks[0]!.beginCommit(this.#salt)
      try {
        const bytes = chunks.reduce((sum, chunk) => sum + chunk.size, 0)
        const grownBytes = await this.#commit(chunks, bytes)
        const { nextSeq } = chunks.at(-1)!
        this.#confirmedSeq = nextSeq
        // In the same turn: whoever reads both `active` and what was counted must find them equal.
        this.#options.onWritten(bytes, nextSeq - chunks[0]!.firstSeq, grownBytes)
        for (const chunk of chunks) chunk.resolve(this.producer)
      } catch (thrown) {
        const error = isSluiceError(thrown) ? thrown : failed(thrown)
        this.#options.onRefused(chunks.at(-1)!.nextSeq - chunks[0]!.firstSeq, error.code)
        for (const chunk of chunks) chunk.reject(error)
      }
      this.#gathering.recycle(chunks)
    }
    if (this.#sealRequested) {
      this.#sealRequested = false
      await this.#endSegment(false)
    }
  }

  /** Returns by how many bytes the files have grown. */
  async #commit(chunks: readonly Chunk[], total: number): Promise<number> {
    const { segmentBytes, maxBytes } = this.#options
    const bytes = chunks.map((chunk) => chunk.bytes)
    // Only a limit is exact; on a disk that is almost full zeros are left out.
    const wanted = maxBytes === Infinity ? total : total + OpenSegment.mostBesides(segmentBytes)
    const endSegment = async (): Promise<void> => {
      if (this.#segment?.isEmpty === false) await this.#endSegment(false)
    }
    let noSpace = false
    for (let attempt = 1; ; ) {
      if (!(await this.#options.makeRoom(wanted, noSpace, endSegment))) throw full(this.#closed)
      try {
        const former = this.#segment
        const segment = await this.#writable(total)
        const before = segment === former ? segment.allocated : 0
        // Records that were refused leave a gap in the sequence; the mark shows that nothing is missing.
        const { firstSeq } = chunks[0]!
        const mark =
          firstSeq === this.#confirmedSeq ? [] : [markRecord('skip', firstSeq, this.#confirmedSeq, this.#salt)]
        await segment.append([...mark, ...bytes])
        if (!segment.isOurs) throw new Error('another process took the segment over')
        this.#syncLater()
        return segment.allocated - before
      } catch (error) {
        noSpace = isNoSpace(error)
        if (noSpace) continue
        this.#options.onFailure(error, 'append')
        await this.#abandon()
        if (attempt++ >= attempts) throw failed(error)
      }
    }
  }

  /** The segment for the next bytes: a new one if there is none or the current one is long enough. */
  async #writable(bytes: number): Promise<OpenSegment> {
    const present = this.#segment
    if (present !== undefined && present.size + bytes <= this.#options.segmentBytes) return present
    if (present !== undefined) await this.#endSegment(false)
    const { fs, dir, identity, durability, segmentBytes } = this.#options
    this.#lastCreatedMs = Math.max(this.#nowMs(), this.#lastCreatedMs + 1)
    const createdMs = this.#lastCreatedMs
    const number = this.#segmentNumber
    const header = { producer: this.producer, number, firstSeq: this.#confirmedSeq, createdMs, writer: identity }
    const create = (): Promise<OpenSegment> => OpenSegment.create(fs, dir, header, segmentBytes, durability === 'sync')
    try {
      this.#segment = await create()
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error
      // The whole directory was removed, for example by a cleaner of temporary files.
      await fs.makeDir(dir)
      this.#segment = await create()
    }
    this.#segmentNumber++
    return this.#segment
  }

  /**
   * Marks the end of the segment and seals it. The mark only saves a scan, so a failure to write it changes nothing.
   */
  async #endSegment(ended: boolean): Promise<void> {
    const segment = this.#segment
    if (segment === undefined) return
    const mark = markRecord(ended ? 'last' : 'foot', this.#confirmedSeq, this.#nowMs(), this.#salt)
    await quietly(segment.finish(mark))
    if (this.#options.durability === 'interval') await quietly(segment.sync())
    await this.#abandon()
    await quietly(this.#options.fs.syncDir(this.#options.dir))
  }

  /** Leaves the segment as it is and never writes to the file again. */
  async #abandon(): Promise<void> {
    const segment = this.#segment
    this.#segment = undefined
    await segment?.seal()
  }

  #syncLater(): void {
    if (this.#options.durability !== 'interval' || this.#syncTimer !== undefined) return
    this.#syncTimer = this.#options.clock.setTimeout(() => {
      this.#syncTimer = undefined
      const segment = this.#segment
      segment?.sync().catch((error: unknown) => {
        this.#options.onFailure(error, 'sync')
        // Nothing may be synced on this file again, so it gets no mark either.
        if (this.#segment === segment) void this.#abandon()
      })
    }, this.#options.syncIntervalMs)
    this.#syncTimer.unref?.()
  }

  #nowMs(): number {
    return Math.floor(this.#options.clock.now() / 1000)
  }
}

const closedError = (): SluiceError =>
  new SluiceError('SLUICE_CLOSED', 'The buffer is closed; open it again with createShipper or createAppender.')

function tooManyWaiting(): SluiceError {
  const message = 'too many events wait for the disk; await ship() before the next one'
  return new SluiceError('SLUICE_BUFFER_FULL', message, { transient: true })
}

function full(isClosed: boolean): SluiceError {
  const message = isClosed ? 'the buffer was closed before there was room for the event' : 'the buffer is full'
  return new SluiceError('SLUICE_BUFFER_FULL', message, { transient: true })
}

function failed(cause: unknown): SluiceError {
  const { message } = cause as Error
  return new SluiceError('SLUICE_BUFFER_FAILED', `the event could not be stored: ${message}`, {
    cause,
    transient: true,
  })
}
