/** A limit of an upstream: its key in shared state, and how much it allows. A period of 0 counts what is in flight. */
export interface BookedLimit {
  readonly key: string
  readonly amount: number
  readonly periodMs: number
}

/** By unit, without requests: every call is one of those. */
export type Units = Readonly<Record<string, number>>

/** A step that a process sends to the shared state of an upstream. All steps of one exchange run in one instant. */
export type Step =
  | BookStep
  /** Takes a waiter out of the queue. */
  | { readonly op: 'cancel'; readonly id: string }
  /** Nothing was written on a grant, and nothing will be. */
  | { readonly op: 'back'; readonly grant: string }
  | ReportStep
  | PauseStep
  /** The vendor refused although the log had room: requests take longer to arrive than was assumed. */
  | { readonly op: 'refusedWithRoom' }
  /** Asks for one retry of the fleet's budget. */
  | { readonly op: 'retry' }
  | RegisterStep
  /** The process leaves; its waiters are dropped. */
  | { readonly op: 'leave' }

export interface BookStep {
  readonly op: 'book'
  readonly id: string
  /** What is left out here and below is empty, a weight of 1, or no priority: a step is sent for each call. */
  readonly caller?: string | undefined
  readonly tenant?: string | undefined
  readonly weight?: number | undefined
  /** The call is ordered as if it had arrived this much earlier. */
  readonly priorityMs?: number | undefined
  /** How long it has waited already, by the process' monotonic clock. */
  readonly waitedMs: number
  /** How much longer it may wait. */
  readonly maxWaitMs: number
  readonly scope?: string | undefined
  readonly units?: Units | undefined
  /** The most that it is on its way once it is written; -1 if only its response proves that it arrived. */
  readonly arrivalUs: number
  /** The first try of a call pays into the retry budget. */
  readonly first: boolean
}

/** By when the call of a grant has arrived. It replaces what is recorded only where that is later, or with `late`. */
export interface ReportStep {
  readonly op: 'report'
  readonly grant: string
  /** From now; negative when it has arrived already. */
  readonly inUs: number
  /** Nothing more will be reported. */
  readonly final: boolean
  /** It was written later than its grant allowed for, so it is entered again; `units` are its own. */
  readonly late?: boolean
  /** What it actually cost, by unit. */
  readonly units?: Units
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
  /** The vendor refused a call: the rate rises slowly afterwards. Otherwise it is full at once. */
  readonly refused: boolean
}

/**
 * What a process knows when it meets a state that does not know it: its calls that were granted by earlier states, and
 * its copies of the logs of long limits.
 */
export interface RegisterStep {
  readonly op: 'register'
  readonly inFlight: number
  readonly grants: readonly RegisteredGrant[]
  readonly mirrors: readonly Mirror[]
}

export interface RegisteredGrant {
  readonly grant: string
  readonly agoUs: number
  /** From now until it has surely arrived. */
  readonly inUs: number
  readonly units: Units
}

/** The log of a limit as it was some time ago: units, and from now until each has surely arrived. */
export interface Mirror {
  readonly key: string
  readonly agoUs: number
  /** For how long it was complete then; -1 for always. */
  readonly completeUs: number
  readonly entries: readonly (readonly [inUs: number, units: number])[]
}

/** Settings of the upstream that decide; every exchange carries those of the policy in force in its process. */
export interface BookingRules {
  readonly limits: readonly BookedLimit[]
  readonly maxQueue: number
  /** -1: half of `maxQueue` as soon as tenants are named. */
  readonly maxQueuePerTenant: number
  /** The most that most calls are on their way, and how long one can be of which only the response proves it. */
  readonly arrivalMs: number
  readonly timeoutMs: number
  readonly afterLoss: 'pace' | 'wait'
  /** Thousandths of a retry that each call pays into the budget, and that each second does. */
  readonly retryPerCall: number
  readonly retryPerSecond: number
}

/** One exchange of a process with the state of an upstream. */
export interface Exchange {
  readonly owner: string
  /** Grows with every exchange of a process. What was granted after `answered` and before it was not received. */
  readonly no: number
  readonly answered: number
  /** Of the state that the process last heard of; '' at first. */
  readonly marker: string
  /** The shared time by the monotonic clock of the process, and the epoch in which it learned that; -1 at first. */
  readonly expectUs: number
  readonly epoch: number
  /** What shared time had been cut by when it learned that. */
  readonly lostUs: number
  /** Its wall clock. */
  readonly wallMs: number
  readonly jump?: Jump
  /** How many of its calls are over, since it began. */
  readonly ended: number
  /** Asks for the logs of long limits. */
  readonly mirror: boolean
  readonly rules: BookingRules
  readonly steps: readonly Step[]
}

/** Shared time is ahead of what the process verified, seen when the server's clock was corrected by `offsetUs`. */
export interface Jump {
  readonly offsetUs: number
  readonly us: number
  /** The server's clock gained for certain. Otherwise nobody verified so much, and it is given up. */
  readonly isGain: boolean
}

/** The result of a step. `earliestMs` is how long until the call is likely to be granted. */
export type StepResult =
  | { readonly is: 'queued' | 'full' | 'too-long'; readonly ahead: number; readonly earliestMs: number }
  /** The scope of the call is paused; it was not queued. */
  | { readonly is: 'paused'; readonly ms: number }
  | { readonly is: 'gone' }
  | { readonly is: 'ok' }
  | { readonly is: 'no' }

export interface ExchangeReply {
  /** Changes when state was lost. */
  readonly marker: string
  /** False: the state does not know this process. It did nothing, and the process must register and book again. */
  readonly known: boolean
  /** Shared time, the part of it that is verified, its epoch, and how much the server's clock is corrected by. */
  readonly timeUs: number
  readonly verifiedUs: number
  readonly epoch: number
  readonly offsetUs: number
  /** What shared time was cut by because nobody verified it: all processes subtract that. */
  readonly lostUs: number
  readonly results: readonly StepResult[]
  /** Waiters of this process that may be sent now, and the numbers of their grants. */
  readonly grants: readonly { readonly id: string; readonly number: number }[]
  /** Waiters of this process whose scope was paused; they are no longer queued. */
  readonly paused: readonly { readonly id: string; readonly ms: number }[]
  /** Calls of this process that were granted in exchanges it had no answer to; those grants are void. */
  readonly voided: readonly string[]
  /** When the first waiter of this process can have its turn at the earliest; -1 if none waits. */
  readonly askInUs: number
  /** For how much longer nothing is granted because state was lost, and some limit is paced for that reason. */
  readonly recoveringMs: number
  readonly pacedMs: number
  /** How long everything is paused. */
  readonly pausedMs: number
  /** What counts as arrival at least, since the vendor refused although the log had room, and for how much longer. */
  readonly widenedMs: number
  readonly widenedForMs: number
  readonly depth: number
  /** How many processes share the upstream, this one included. */
  readonly processes: number
  /** By limit of the exchange. */
  readonly used: readonly number[]
  readonly mirrors: readonly Omit<Mirror, 'agoUs'>[]
}

/** Where the state of upstreams is kept: in this process or in Redis. */
export interface BookingPort {
  /**
   * Runs one exchange on the state of an upstream, once or not at all. Rejects when the result is not known by
   * `withinMs`; then the same steps are sent again in an exchange with a higher number.
   */
  exchange(upstream: string, asked: Exchange, withinMs: number): ExchangeReply | Promise<ExchangeReply>
  /** Whether the state can be reached now; a port in this process has no such question. */
  isReachable?(withinMs: number): Promise<boolean>
  close(): Promise<void>
}
