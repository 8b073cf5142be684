import type { DestinationStream, Logger } from 'pino'
import type { LogLevel } from '../../config/daemon-options.ts'
import { createLog } from '../../log/create-log.ts'
import { logDriverLines } from '../../log/driver-lines.ts'
import type { Terminal } from '../command.ts'
import { retryText } from '../show/decision.ts'
import { duration } from '../terminal/numbers.ts'
import { safe } from '../terminal/text.ts'

/** The log of a command that listens: lines for people on a terminal, JSON elsewhere; and what drivers print. */
export function openLog(level: string | undefined, terminal: Terminal): Logger {
  const log = createLog((level ?? 'info') as LogLevel, terminal.live ? humanLog(terminal) : undefined)
  logDriverLines(log)
  return log
}

/** What every line has; the rest of its fields is printed behind the message. */
const usual = new Set(['level', 'time', 'name', 'msg', 'pid', 'hostname', 'err'])
/** In a flood a person wants to see that it goes on, not every drop. */
const denialEveryMs = 1000

/** Prints the log for people: the time, the message, and what belongs to it. */
function humanLog({ style, line }: Terminal): DestinationStream {
  const paint = (level: string): ((text: string) => string) =>
    /^(error|fatal)$/.test(level) ? style.bad : level === 'warn' ? style.warn : (text) => text
  let shownMs = Number.NEGATIVE_INFINITY
  let unseen = 0

  function denial({ rule, reason, subjects, retryAfterMs, suppressed = 0 }: Entry, atMs: number): string | undefined {
    unseen += suppressed
    if (atMs - shownMs < denialEveryMs) {
      unseen++
      return undefined
    }
    const others = unseen === 0 ? '' : style.faint(`  and ${unseen} more`)
    shownMs = atMs
    unseen = 0
    const key = subjects?.find((subject) => subject.split('/')[1] === rule) ?? rule ?? ''
    return `${style.bad('denied')}  ${safe(key)}  ${style.faint(`${reason}, ${retryText(retryAfterMs ?? null)}`)}${others}`
  }

  function text(entry: Entry, atMs: number): string | undefined {
    const { level = 'info', msg = '', err } = entry
    // The banner has said it already.
    if (msg === 'listening') return undefined
    if (msg === 'denied') return denial(entry, atMs)
    const fields = Object.entries(entry).filter(
      ([name, value]) => !usual.has(name) && value !== undefined && value !== false,
    )
    const shown = fields.map(([name, value]) => `${style.faint(`${name}=`)}${valueText(name, value)}`)
    const error = err?.message === undefined ? [] : [style.bad(safe(err.message.split('\n').slice(0, 2).join(' ')))]
    return [paint(level)(safe(msg)), ...shown, ...error].join('  ')
  }

  return {
    write(raw) {
      const entry = parsed(raw)
      const atMs = entry?.time === undefined ? Date.now() : Date.parse(entry.time)
      const message = entry === undefined ? safe(raw.trimEnd()) : text(entry, atMs)
      if (message !== undefined) line(`${style.faint(new Date(atMs).toTimeString().slice(0, 8))}  ${message}`)
    },
  }
}

interface Entry {
  readonly level?: string
  readonly time?: string
  readonly msg?: string
  readonly err?: { readonly message?: string }
  readonly rule?: string
  readonly reason?: string
  readonly subjects?: readonly string[]
  readonly retryAfterMs?: number | null
  readonly suppressed?: number
}

function parsed(text: string): Entry | undefined {
  try {
    return JSON.parse(text) as Entry
  } catch {
    return undefined
  }
}

function valueText(name: string, value: unknown): string {
  if (typeof value === 'number' && name.endsWith('Ms')) return duration(value)
  if (Array.isArray(value)) return safe(value.map(String).join(', '))
  return safe(typeof value === 'object' ? JSON.stringify(value) : String(value))
}
