import type { Ask } from '../../core/engine/ask.ts'
import type { KnownSubjects } from './known-subjects.ts'

/**
 * Remembers that an ask other than a take has changed its subjects, so that smaller usage does not look like a loss.
 * How much of a hold came back is not known here: the next take finds out whether less is used, or was lost.
 */
export function noteChange(ask: Ask, subjects: KnownSubjects, nowUs: number): void {
  for (const charge of ask.charges) {
    const known = subjects.get(charge, nowUs)
    if (known === undefined) continue
    if (ask.kind === 'refund') known.used = Math.max(0, known.used - charge.cost)
    if (ask.kind === 'reset') {
      known.used = 0
      known.unreported = 0
      known.share = undefined
    }
  }
}
