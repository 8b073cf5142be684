import type { Done } from '../../components/notice.tsx'
import type { Replica } from './rows.ts'

const words: Readonly<Record<string, { readonly title: string; readonly text: string }>> = {
  flush: { title: 'Flush', text: 'It sends what is pending now, if an attempt is due.' },
  resend: { title: 'Resend', text: 'It sends again what the server refused. What is refused again stays set aside.' },
  open: { title: 'Open', text: 'It refuses every call from now on, until somebody closes it.' },
  close: { title: 'Close', text: 'It admits calls at once.' },
}

/** An action in words; one of a later version under its own name. */
export function wordsOf(action: string): { readonly title: string; readonly text: string } {
  return Object.hasOwn(words, action) ? words[action]! : { title: action.slice(0, 40), text: 'The part does it once.' }
}

/** An action that was ordered from this page. */
export interface Ordered {
  readonly id: string
  readonly replica: string
  readonly title: string
  readonly atMs: number
}

/** An order waits ten seconds, and its result comes with the report after that. */
const resultWithinMs = 15_000

/** What became of an order, from the reports; final ones do not change any more. */
export function outcomeOf(
  { id, replica, title, atMs }: Ordered,
  replicas: readonly Replica[],
  nowMs: number,
): { readonly done: Done; readonly isFinal: boolean } {
  const result = replicas.find((each) => each.replica === replica)?.results.find((each) => each.id === id)
  const of = (kind: Done['kind'], text: string, isFinal = false) => ({
    done: { kind, text: `${title}: ${text}.` },
    isFinal,
  })
  if (result?.state === 'done') return of('good', result.text || 'done', true)
  if (result?.state === 'failed') return of('bad', `failed, ${result.text}`, true)
  if (result?.state === 'running') return of('info', 'the process is doing it')
  if (nowMs - atMs < resultWithinMs) return of('info', 'ordered, the process takes it with its next report')
  return of('warn', 'the process has not said what became of it; see how it stands before you order again')
}
