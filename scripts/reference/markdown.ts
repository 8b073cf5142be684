export const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** A cell of a table. */
export const cell = (text: string): string => oneLine(text).replaceAll('|', '\\|')

/** Words in a cell; what would be read as HTML is not. */
export const prose = (text: string): string => cell(text).replaceAll('<', '&lt;')

/** A piece of code in a cell. */
export const code = (text: string): string => (text === '' ? '' : `\`${cell(text)}\``)

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string[] => [
  `| ${head.join(' | ')} |`,
  `|${'---|'.repeat(head.length)}`,
  ...rows.map((row) => `| ${row.join(' | ')} |`),
  '',
]

export const page = (lines: readonly string[]): string => `${lines.join('\n').trimEnd()}\n`
