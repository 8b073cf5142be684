/**
 * The key of one limit of an upstream in shared state, and how much it allows. A period of 0 counts what is in flight.
 */
export interface BookedLimit {
  readonly key: string
  readonly amount: number
  readonly periodMs: number
}

/** Units by the key of the limit. */
export type Units = Readonly<Record<string, number>>
/** Groups of answered calls by the key of the limit. */
export type Ticks = Readonly<Record<string, string>>

/**
 * A step that a process sends to the shared state of an upstream. All steps of one exchange run at one instant, in
 * order.
 */
export type Step =
  | BookStep
  /** Cancels a waiter, or returns a place on which nothing was written. */
  | { readonly op: 'cancel'; readonly id: string }
  /**
   * The final response of a call began. `ticks` name, by limit, the group of answered calls that the owner will free.
   */
  | { readonly op: 'answered'; readonly id: string; readonly ticks: Ticks }
  /**
   * The call is over. `units` are what it actually cost; without them the reservation stays. `ticks` are for the cost
   * beyond the reservation.
   */
  | { readonly op: 'done'; readonly id: string; readonly units?: Units; readonly ticks: Ticks }
  /** A period has passed since the answered calls of a group began to be answered. */
  | { readonly op: 'free'; readonly limit: string; readonly tick: string }
  | PauseStep
  /** Asks for one retry of the fleet's budget. */
  | { readonly op: 'retry' }
  | RegisterStep
  | InstantsStep
  | ReturnStep
  /** A period has passed since this process noticed the loss of state. */
  | { readonly op: 'recovered'; readonly epoch: string }
  /** The process leaves; its waiters are dropped. */
  | { readonly op: 'leave' }

/** Steps that report what happened to a call that held a place. */
export type SettlingStep = Extract<Step, { readonly op: 'answered' | 'done' }>

export interface BookStep {
  readonly op: 'book'
  readonly id: string
  readonly tenant: string
  readonly weight: number
  /** The call is ordered as if it had arrived this much earlier. */
  readonly priorityMs: number
  /** How long it has waited already, by the process' monotonic clock. */
  readonly waitedMs: number
  /** How much longer it may wait. */
  readonly maxWaitMs: number
  readonly scope: string
  readonly units: Units
  /** The first try of a call pays into the retry budget. */
  readonly first: boolean
}

/** Asks for the instants of several calls of the same size, under an estimated bound. */
export interface InstantsStep {
  readonly op: 'instants'
  readonly ids: readonly string[]
  readonly units: Units
  readonly maxWaitsMs: readonly number[]
}

/** Returns an instant on which nothing was sent. */
export interface ReturnStep {
  readonly op: 'return'
  readonly atUs: number
  readonly units: Units
}

export interface PauseStep {
  readonly op: 'pause'
  readonly scope: string
  /** How long; -1 when the vendor did not state it. */
  readonly ms: number
  /** How long ago the call that met the limit was sent. */
  readonly sentAgoMs: number
  /** From 0 to 1, for a pause without a stated length. */
  readonly chance: number
  readonly maxMs: number
}

/**
 * All that a process knows to be taken by it, sent after state was lost or exchanges failed. It replaces what was
 * recorded of this process before; everything is by id, so sending it twice changes nothing.
 */
export interface RegisterStep {
  readonly op: 'register'
  /** Those that were answered have `ticks`: most of their units are in groups. */
  readonly calls: readonly { readonly id: string; readonly units: Units; readonly ticks?: Ticks }[]
  readonly groups: readonly { readonly limit: string; readonly tick: string; readonly units: number }[]
}

/** Settings of the upstream that decide; every exchange carries those of the policy in force in its process. */
export interface BookingRules {
  readonly limits: readonly BookedLimit[]
  readonly maxQueue: number
  readonly maxQueuePerTenant: number
  /** From a confirmed grant until a request written on it has surely arrived, should its holder die. */
  readonly heldMs: number
  /** Estimated bounds: how instants are spaced, and what is kept free for the spread of delays. */
  readonly spacing: 'even' | 'burst'
  readonly marginMs: number
  /** Thousandths of a retry that each call pays into the budget, and that each second does. */
  readonly retryPerCall: number
  readonly retryPerSecond: number
}

/** One exchange of a process with the state of an upstream. */
export interface Exchange {
  readonly owner: string
  /** By its monotonic clock: since it sent its last exchange that was answered; -1 when there was none. */
  readonly sinceMs: number
  readonly rules: BookingRules
  readonly steps: readonly Step[]
}

/**
 * The result of a step. `earliestMs` is how long until a call is likely to be served, if those in flight are answered
 * now. The result is `too-long` if it would be too late even if they returned their places unused.
 */
export type StepResult =
  | { readonly is: 'held' }
  | { readonly is: 'queued'; readonly ahead: number; readonly earliestMs: number }
  | { readonly is: 'full'; readonly ahead: number; readonly earliestMs: number }
  | { readonly is: 'too-long'; readonly ahead: number; readonly earliestMs: number }
  /** The scope of the call is paused; it was not queued. */
  | { readonly is: 'paused'; readonly ms: number }
  | { readonly is: 'gone' }
  /** When each call may be sent (us, in the time used for decisions), or `-1 - wait` (ms) for one that is refused. */
  | { readonly is: 'instants'; readonly at: readonly number[] }
  | { readonly is: 'ok' }
  | { readonly is: 'no' }

/** Units whose period no process measures any more; this process does so from the moment it learned of them. */
export interface Adopted {
  readonly limit: string
  readonly tick: string
  readonly units: number
}

export interface ExchangeReply {
  /** The time used for decisions. */
  readonly nowMs: number
  /** Changes when state was lost; a process that sees a new one registers what it knows. */
  readonly epoch: string
  /** Nothing is granted until a process sends `recovered`. */
  readonly recovering: boolean
  /** Whether the state had a record of this process before. */
  readonly known: boolean
  readonly results: readonly StepResult[]
  /** Waiters of this process that hold a place now. Every exchange confirms what was assigned to its process. */
  readonly held: readonly string[]
  /** Waiters of this process whose scope was paused before they held a place; they are no longer queued. */
  readonly paused: readonly { readonly id: string; readonly ms: number }[]
  readonly adopted: readonly Adopted[]
  /** When waiters should be looked at again although nothing is freed; -1 if that is not needed. */
  readonly wakeMs: number
  /** How long everything is paused. */
  readonly pausedMs: number
  readonly depth: number
  /** How many processes share the upstream, this one included. */
  readonly processes: number
  /** By limit of the exchange. */
  readonly used: readonly number[]
  /** Other processes whose waiters were assigned places, to be notified. */
  readonly notify: readonly { readonly owner: string; readonly ids: readonly string[] }[]
}
