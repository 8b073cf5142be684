import type { DestinationStream } from 'pino'
import { duration } from '../terminal/numbers.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { safe } from '../terminal/text.ts'

/** What every line has; the rest of its fields is printed behind the message. */
const usual = new Set(['level', 'time', 'name', 'msg', 'pid', 'hostname', 'err'])

/** Prints the log for people: the time, the message, and what belongs to it. */
export function humanLog({ style, line }: Terminal): DestinationStream {
  const paint = (level: number): ((text: string) => string) =>
    level >= 50 ? style.bad : level >= 40 ? style.warn : (text) => text
  return {
    write(text) {
      const entry = parsed(text)
      if (entry === undefined) return line(safe(text.trimEnd()))
      const { level = 30, time = Date.now(), msg = '', err } = entry
      const fields = Object.entries(entry).filter(
        ([name, value]) => !usual.has(name) && value !== undefined && value !== false,
      )
      const shown = fields.map(([name, value]) => `${style.faint(`${name}=`)}${valueText(name, value)}`)
      const error = err?.message === undefined ? [] : [style.bad(safe(err.message.split('\n')[0] ?? ''))]
      line(
        [style.faint(new Date(time).toTimeString().slice(0, 8)), paint(level)(safe(msg)), ...shown, ...error].join(
          '  ',
        ),
      )
    },
  }
}

interface Entry {
  readonly level?: number
  readonly time?: number
  readonly msg?: string
  readonly err?: { readonly message?: string }
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
