import type { State } from '../../core/algorithms/state.ts'
import type { Answer, Ask } from '../../core/engine/ask.ts'
import { decide } from '../../core/engine/engine.ts'
import type { Packed } from '../../redis/msgpack.ts'
import { StoredSubject } from './stored-subject.ts'

/** Undefined for a key that holds what is not ours, or what this version cannot read. */
export type StoredSubjects = (StoredSubject | undefined)[]

/** A subject as a script returned it. */
export function storedSubject(packed: Packed): StoredSubject | undefined {
  if (typeof packed === 'boolean') return undefined
  return new StoredSubject(packed === null ? undefined : (packed as Packed[]))
}

const one: [State] = [{ n: new Float64Array(0), at: 0, extra: undefined }]

/**
 * Runs an ask on the subjects as a script found them and the asks before it left them. `indices` are those of its
 * subjects; undefined for a subject that is not ours, and so for the answer.
 */
export function replay(
  ask: Ask,
  indices: number | readonly number[],
  subjects: StoredSubjects,
  clockUs: number,
): Answer | undefined {
  if (ask.kind === 'reset') repair(indices, subjects)
  if (typeof indices !== 'number') return replayMany(ask, indices, subjects, clockUs)
  const subject = subjects[indices]
  if (subject === undefined) return undefined
  const { limits } = ask.charges[0]!
  one[0] = ask.kind === 'peek' ? subject.look(limits) : subject.adopt(limits)
  const nowUs = Math.max(clockUs, subject.baseUs)
  const answer = decide(ask, one, nowUs)
  written(ask, subject, nowUs)
  return byClock(answer, clockUs)
}

function replayMany(
  ask: Ask,
  indices: readonly number[],
  subjects: StoredSubjects,
  clockUs: number,
): Answer | undefined {
  const involved: StoredSubject[] = []
  for (const index of indices) {
    const subject = subjects[index]
    if (subject === undefined) return undefined
    involved.push(subject)
  }
  const states = involved.map((subject, c) => {
    const { limits } = ask.charges[c]!
    return ask.kind === 'peek' ? subject.look(limits) : subject.adopt(limits)
  })
  const nowUs = involved.reduce((latest, { baseUs }) => Math.max(latest, baseUs), clockUs)
  const answer = decide(ask, states, nowUs)
  for (const subject of involved) written(ask, subject, nowUs)
  return byClock(answer, clockUs)
}

/** A reset removes whatever lies at a key: what was not ours is a subject without a past from then on. */
function repair(indices: number | readonly number[], subjects: StoredSubjects): void {
  for (const index of [indices].flat()) subjects[index] ??= new StoredSubject(undefined)
}

/**
 * Where the server's clock is behind the last write, a subject waits until the clock has caught up, and then for its
 * limits.
 */
function byClock(answer: Answer, clockUs: number): Answer {
  if (answer.nowUs <= clockUs) return answer
  const behindMs = Math.ceil((answer.nowUs - clockUs) / 1000)
  const later = (ms: number): number => (ms > 0 ? ms + behindMs : 0)
  const statuses = answer.statuses.map((limits) =>
    limits.map((status) => ({
      ...status,
      resetMs: later(status.resetMs),
      retryAfterMs: later(status.retryAfterMs),
    })),
  )
  return { ...answer, statuses }
}

/** What a script that saw a subject leaves for the next ask of the batch. It sees nothing of peeks. */
function written(ask: Ask, subject: StoredSubject, nowUs: number): void {
  if (ask.kind === 'peek') return
  if (ask.kind === 'reset') {
    subject.forget()
    return
  }
  subject.baseUs = nowUs
}
