/** A partition, as one worker owns it. */
export interface Claim {
  readonly pipeline: string
  readonly partition: string
  /** Grows with each owner. Whoever has a lower one is refused. */
  readonly epoch: number
  /** Where to read on; undefined at the beginning. */
  readonly next: string | undefined
  /** Whether the partition was read to its end. */
  readonly done: boolean
  /** The identity of the source that the position belongs to. */
  readonly source: string | undefined
}

/** How a partition stands, whoever owns it. */
export interface PartitionState extends Claim {
  /** The worker that owns it now. */
  readonly owner: string | undefined
}

export interface SavedPosition {
  readonly next: string | undefined
  readonly done: boolean
  readonly source: string | undefined
}

/** Where positions are kept, and who owns which partition. */
export interface Positions {
  list(pipeline: string): Promise<readonly PartitionState[]>
  /** Takes a partition that nobody owns, or whose owner did not extend its claim in time. */
  claim(pipeline: string, partition: string, worker: string, leaseMs: number): Promise<Claim | undefined>
  /** False: another has taken the partition over. */
  extend(claim: Claim, leaseMs: number): Promise<boolean>
  /** Saves a position, unless another has taken the partition over; then false. */
  save(claim: Claim, position: SavedPosition): Promise<boolean>
  /** Gives the partition back, so that another need not wait. */
  release(claim: Claim): Promise<void>
}

/**
 * Thrown by a sink that saves positions itself when another worker has taken the partition over: this one stops working
 * on it.
 */
export class Fenced extends Error {
  override readonly name = 'Fenced'
}
