// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the codes that colour text.
const codes = /\u001b\[[0-9;]*m/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: what comes from outside must not steer the terminal.
const controls = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

// biome-ignore lint/suspicious/noControlCharactersInRegex: the codes of `Style`, and line breaks.
const ours = /(\u001b\[(?:1|2|22|3[1236]|39)m|\n)/

/** How many columns a text takes. Keys are ASCII; what is wider only shifts its line. */
export function widthOf(text: string): number {
  return text.replace(codes, '').length
}

/** Text from outside, with everything that could steer a terminal made visible. */
export function safe(text: string): string {
  return text.replace(controls, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** JSON of a value on one line. What could steer a terminal is escaped, and only ever stands within its strings. */
export function safeJson(value: unknown, replacer?: (key: string, value: unknown) => unknown): string {
  return safe(JSON.stringify(value, replacer) ?? 'null')
}

/** A line of our own with text from others in it: colours and line breaks stay, everything else is made visible. */
export function safeLine(line: string): string {
  return line
    .split(ours)
    .map((part, i) => (i % 2 === 1 ? part : safe(part)))
    .join('')
}

/** Shortens a plain text in the middle, where keys differ least. */
export function shorten(text: string, width: number): string {
  if (text.length <= width) return text
  if (width < 4) return text.slice(0, Math.max(0, width))
  const head = Math.floor((width - 1) / 2)
  return `${text.slice(0, head)}…${text.slice(text.length - (width - 1 - head))}`
}

export type Align = 'left' | 'right'

/** Lines up cells in columns, two spaces apart. */
export function columns(rows: readonly (readonly string[])[], align: readonly Align[] = []): string[] {
  const widths: number[] = []
  for (const row of rows) for (const [c, cell] of row.entries()) widths[c] = Math.max(widths[c] ?? 0, widthOf(cell))
  return rows.map((row) =>
    row
      .map((cell, c) => pad(cell, widths[c] ?? 0, align[c] ?? 'left'))
      .join('  ')
      .trimEnd(),
  )
}

export function pad(cell: string, width: number, align: Align): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(cell)))
  return align === 'left' ? cell + space : space + cell
}

/** Breaks a text at spaces. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
