import type { Terminal } from '../command.ts'

const esc = '\u001b['
const enter = `${esc}?1049h${esc}?25l`
const leave = `${esc}?25h${esc}?1049l`

/** The whole terminal, as long as it is borrowed; what was there before comes back afterwards. */
export class Screen {
  readonly #terminal: Terminal
  readonly #onKey: (key: string) => void
  readonly #read = (data: Buffer): void => {
    for (const key of data.toString('latin1')) this.#onKey(key)
  }
  #open = false

  constructor(terminal: Terminal, onKey: (key: string) => void) {
    this.#terminal = terminal
    this.#onKey = onKey
  }

  open(): void {
    this.#open = true
    const { stdin } = process
    if (stdin.isTTY) stdin.setRawMode(true)
    stdin.on('data', this.#read)
    stdin.resume()
    this.#terminal.write(enter)
  }

  /** Draws over what is there instead of clearing first, so that nothing flickers. */
  draw(lines: readonly string[]): void {
    if (!this.#open) return
    this.#terminal.write(`${esc}H${lines.map((line) => `${line}${esc}K`).join('\r\n')}${esc}J`)
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    const { stdin } = process
    stdin.off('data', this.#read)
    if (stdin.isTTY) stdin.setRawMode(false)
    stdin.pause()
    this.#terminal.write(leave)
  }
}
