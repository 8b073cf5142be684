import type { Bumped, LogReply, Position } from '../messages.ts'

export interface LogModelOptions {
  readonly maxScopes: number
  readonly maxKeys: number
  /** Faults that a mutant may have. */
  readonly ignoresRunId?: boolean
  readonly forgetsFloor?: boolean
  readonly missingIsZero?: boolean
}

interface LogState {
  generation: string
  runId: number
  sequence: number
  scopeFloor: number
  keyFloor: number
  scopes: Map<string, number>
  keys: Map<string, number>
}

/** The same as `bump.lua` and `sync.lua`, with the faults of a Redis node. */
export class LogModel {
  readonly #options: LogModelOptions
  #state: LogState | undefined
  #minted = 0
  /**
   * Until when readers may have proofs of these lengths. They outlive the log here: that it is wiped while processes
   * have different ones is a documented limit.
   */
  readonly #proofs = new Map<number, number>()
  runId = 1

  constructor(options: LogModelOptions) {
    this.#options = options
  }

  /** FLUSHALL, or the log evicted. */
  wipe(): void {
    this.#state = undefined
  }

  snapshot(): LogState | undefined {
    return structuredClone(this.#state)
  }

  /** Another node takes over with what it had received. */
  failOver(received: LogState | undefined): void {
    this.#state = structuredClone(received)
    this.runId += 1
  }

  bump(scopes: readonly string[], nowMs: number): Bumped {
    const log = this.#open()
    log.sequence += 1
    for (const scope of scopes) {
      const table = scope.startsWith('k:') ? log.keys : log.scopes
      table.delete(scope)
      table.set(scope, log.sequence)
    }
    log.scopeFloor = Math.max(log.scopeFloor, this.#trim(log.scopes, this.#options.maxScopes))
    log.keyFloor = Math.max(log.keyFloor, this.#trim(log.keys, this.#options.maxKeys))
    const proofs = [...this.#proofs].flatMap(([proofMs, untilMs]) => (untilMs > nowMs ? [proofMs] : []))
    return { generation: log.generation, sequence: log.sequence, scopes, longestProofMs: Math.max(0, ...proofs) }
  }

  sync(known: Position | undefined, proofMs: number, nowMs: number): LogReply {
    const log = this.#open()
    this.#proofs.set(proofMs, nowMs + 2 * proofMs)
    const { generation, scopeFloor, keyFloor } = log
    const since = known?.generation === generation ? known.sequence : undefined
    const left = [...log.scopes, ...log.keys].filter(([, at]) => at > (since ?? 0)).sort(([, a], [, b]) => a - b)
    // Pages of one: the log has three changes at most.
    const sequence = left.length > 1 ? left[0]![1] : log.sequence
    const changes = left.filter(([, at]) => at <= sequence)
    return { generation, sequence, isLast: sequence === log.sequence, since, scopeFloor, keyFloor, changes }
  }

  #open(): LogState {
    const state = this.#state
    if (state !== undefined && (state.runId === this.runId || this.#options.ignoresRunId)) return state
    this.#minted += 1
    const generation = this.#options.missingIsZero ? 'g0' : `g${this.#minted}`
    this.#state = {
      generation,
      runId: this.runId,
      sequence: 0,
      scopeFloor: 0,
      keyFloor: 0,
      scopes: new Map(),
      keys: new Map(),
    }
    return this.#state
  }

  #trim(table: Map<string, number>, max: number): number {
    let floor = 0
    while (table.size > max) {
      const [scope, at] = table.entries().next().value!
      table.delete(scope)
      if (!this.#options.forgetsFloor) floor = at
    }
    return floor
  }
}
