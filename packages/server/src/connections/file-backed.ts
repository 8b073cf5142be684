import { type Stats, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Logger } from 'pino'

/** How often files are looked at. By their state and not by events: Kubernetes swaps links, which few watchers see. */
const lookEveryMs = 1000

/** A value that may be another one later. */
export interface Current<Value> {
  readonly current: Value
}

/** What was read from files, and is again when they change. A bad version is refused, and the last good one stays. */
export class FileBacked<Value> implements Current<Value> {
  readonly files: readonly string[]
  readonly #read: () => Value
  readonly #listeners = new Set<() => void>()
  #current: Value
  /** The state of the files when they were read last. */
  #seen: string

  /** Reads at once. Without files the value never changes. */
  constructor(files: readonly string[], read: () => Value) {
    this.files = files
    this.#read = read
    this.#seen = stateOf(files)
    this.#current = read()
  }

  /**
   * Whether the files have changed since they were read, also if that was before anybody looked. One after the other
   * and without blocking: on a network mount that hangs, a look may never end.
   */
  async isOutdated(): Promise<boolean> {
    const seen = this.#seen
    const states: string[] = []
    for (const file of this.files) states.push(await stat(file).then(stateIn, missing))
    return seen === this.#seen && states.join() !== seen
  }

  get current(): Value {
    return this.#current
  }

  /** Calls a listener with each new version, until the returned function is called. */
  onChange(listener: (value: Value) => void): () => void {
    const changed = (): void => listener(this.#current)
    this.#listeners.add(changed)
    return () => this.#listeners.delete(changed)
  }

  /** Reads again; throws, and changes nothing, when that cannot be used. */
  reload(): void {
    this.#seen = stateOf(this.files)
    this.#current = this.#read()
    for (const listener of this.#listeners) listener()
  }
}

/** Follows the files of all that was read from some. `reload` reads all of them at once, as for SIGHUP. */
export function followFiles(followed: readonly FileBacked<unknown>[], log: Logger): { reload(): void; stop(): void } {
  const read = (each: FileBacked<unknown>): void => {
    try {
      each.reload()
      log.info({ files: each.files }, 'read again')
    } catch (error) {
      log.error({ files: each.files }, `the last good version stays in use: ${(error as Error).message}`)
    }
  }
  let [isLooking, isStopped] = [false, false]
  const look = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    for (const each of followed) if ((await each.isOutdated()) && !isStopped) read(each)
    isLooking = false
  }
  const timer = setInterval(() => void look(), lookEveryMs)
  timer.unref()
  return {
    reload() {
      for (const each of followed) if (each.files.length > 0) read(each)
    },
    stop() {
      isStopped = true
      clearInterval(timer)
    },
  }
}

function stateOf(files: readonly string[]): string {
  const states = files.map((file) => {
    try {
      return stateIn(statSync(file))
    } catch (error) {
      return missing(error as NodeJS.ErrnoException)
    }
  })
  return states.join()
}

const stateIn = ({ ino, size, mtimeMs }: Stats): string => `${ino} ${size} ${mtimeMs}`
const missing = ({ code = 'unknown' }: NodeJS.ErrnoException): string => code
