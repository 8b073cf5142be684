import type { Style } from './style.ts'

/** Where a command writes, and what it can do there. */
export interface Terminal {
  readonly style: Style
  /** Whether the result is wanted as JSON. */
  readonly json: boolean
  /** Whether a person looks at the output right now, so that it can be redrawn. */
  readonly live: boolean
  /** Whether a person looks at the notes right now, and so at the progress. */
  readonly liveProgress: boolean
  readonly columns: number
  readonly rows: number
  readonly env: Readonly<Record<string, string | undefined>>
  /** Writes a line of the result. */
  line(text?: string): void
  /** Writes as is. */
  write(text: string): void
  /** Writes a line beside the result: what is going on, and warnings. */
  note(text: string): void
  noteRaw(text: string): void
  /** Writes the result as JSON when that is wanted, else as `human` puts it. */
  result(value: unknown, human: () => void): void
}
