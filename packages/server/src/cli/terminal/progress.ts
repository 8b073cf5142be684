import type { Terminal } from '../command.ts'
import { bar } from './numbers.ts'

/** Shows how far something long has come, on a terminal as a bar and elsewhere as one line per step. */
export interface Progress {
  at(share: number, what: string): void
  /** Takes the bar away. */
  end(): void
}

const hideCursor = '\u001b[?25l'
const showCursor = '\u001b[?25h'
const clearLine = '\r\u001b[2K'

export function progress(terminal: Terminal): Progress {
  if (terminal.json) return { at() {}, end() {} }
  if (!terminal.liveProgress) return linesOf(terminal)
  let begun = false
  return {
    at(share, what) {
      const text = `${bar(share, 24)} ${String(Math.floor(share * 100)).padStart(3)}%  ${what}`
      terminal.noteRaw((begun ? '' : hideCursor) + clearLine + text.slice(0, terminal.columns - 1))
      begun = true
    },
    end() {
      if (begun) terminal.noteRaw(clearLine + showCursor)
      begun = false
    },
  }
}

function linesOf(terminal: Terminal): Progress {
  let last = ''
  return {
    at(_, what) {
      const step = what.split(/ {2,}/)[0] ?? what
      if (step !== last) terminal.note(`${step} ...`)
      last = step
    },
    end() {},
  }
}
