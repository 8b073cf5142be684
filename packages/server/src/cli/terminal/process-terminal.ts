import { styleFor, wantsColour } from './style.ts'
import type { Terminal } from './terminal.ts'
import { safeJson, safeLine } from './text.ts'

/** The terminal of this process. */
export function processTerminal(options: { json: boolean; colour: boolean | undefined }): Terminal {
  const { stdout, stderr, env } = process
  const write = (text: string): void => {
    stdout.write(text)
  }
  const line = (text = ''): void => write(`${safeLine(text)}\n`)
  return {
    style: styleFor(!options.json && wantsColour(options.colour, stdout.isTTY === true, env)),
    json: options.json,
    live: stdout.isTTY === true && env.TERM !== 'dumb' && !options.json,
    liveProgress: stderr.isTTY === true && env.TERM !== 'dumb',
    get columns() {
      return stdout.columns ?? 100
    },
    get rows() {
      return stdout.rows ?? 40
    },
    env,
    line,
    write,
    note: (text) => void stderr.write(`${safeLine(text)}\n`),
    noteRaw: (text) => void stderr.write(text),
    result(value, human) {
      if (options.json) line(safeJson(value, finite))
      else human()
    },
  }
}

/** JSON has no infinity: what never comes is null. */
function finite(_: string, value: unknown): unknown {
  if (value instanceof Error) return value.message
  return typeof value === 'number' && !Number.isFinite(value) ? null : value
}
