import type { Exchange } from '../../booking/messages.ts'
import {
  answeredTooLate,
  backAndForward,
  type Directed,
  fastClocks,
  jumpOverSilence,
  stoppedWriters,
} from './schedules.ts'
import type { Mutation } from './server.ts'

export interface Mutant {
  /** The rule that it lacks. */
  readonly lacks: string
  readonly make: () => Mutation
  /** The schedule that shows it, where random ones do so too rarely. */
  readonly schedule?: Directed
}

/** Trusts the server's clock unless it is ahead of what a process measured since its last exchange by more. */
function leap(toleranceUs: number): Mutation {
  const seen = new Map<string, { readonly timeUs: number; readonly wallMs: number }>()
  return {
    asked: (asked, { time, owners }, rawUs) => {
      const nowUs = rawUs + time.offsetUs
      const before = owners.has(asked.owner) ? seen.get(asked.owner) : undefined
      const passedUs = before ? (asked.wallMs - before.wallMs) * 1000 : 0
      const expectUs = before ? Math.min(nowUs, before.timeUs + passedUs + toleranceUs) : nowUs
      seen.set(asked.owner, { timeUs: expectUs, wallMs: asked.wallMs })
      return trusting(asked, expectUs, time.epoch)
    },
  }
}

const trusting = ({ jump: _, ...asked }: Exchange, expectUs: number, epoch: number): Exchange => ({
  ...asked,
  expectUs,
  epoch,
  lostUs: 0,
})

/** Each rule that the bound rests on, left out. */
export const mutants: readonly Mutant[] = [
  {
    lacks: 'a second clock that must agree',
    make: () => ({ asked: (asked, { time }, rawUs) => trusting(asked, rawUs + time.offsetUs, time.epoch) }),
  },
  { lacks: 'notice of jumps below a second', make: () => leap(1_000_000) },
  { lacks: 'notice of jumps by processes that are new', make: () => leap(5000) },
  { lacks: 'the time that a request is on its way', make: () => ({ arrivalMs: 0 }) },
  { lacks: 'the silence after a loss', make: () => ({ made: (state) => ({ ...state, openUs: 0, startUs: 0 }) }) },
  { lacks: 'a deadline for writing', make: () => ({ ignoresWriteBy: true }), schedule: stoppedWriters },
  { lacks: 'names of grants', make: () => ({ namesByCall: true }), schedule: answeredTooLate },
  {
    lacks: 'the epoch of shared time',
    make: () => ({
      asked: (asked, { time }) => ({ ...asked, epoch: time.epoch }),
      replied: (reply) => ({ ...reply, epoch: 0 }),
    }),
    schedule: backAndForward,
  },
  { lacks: 'the guard on the period', make: () => ({ key: 'requests/997' }), schedule: fastClocks },
  {
    lacks: 'a silence that ends by verified time',
    make: () => ({
      asked: (asked, state) => {
        if (state.time.timeUs >= state.openUs) Object.assign(state, { openUs: 0, startUs: 0 })
        for (const log of state.logs.values()) if (state.openUs === 0) log.sinceUs = 0
        return asked
      },
    }),
    schedule: jumpOverSilence,
  },
]
