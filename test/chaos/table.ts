import type { Row } from './scenario.ts'

const columns: readonly (readonly [string, (row: Row) => string])[] = [
  ['fault', (row) => row.fault],
  ['decisions', (row) => String(row.decisions)],
  ['worst over the deadline', (row) => (row.worstOverMs > 0 ? `${row.worstOverMs.toFixed(1)} ms` : '-')],
  ['over-admitted', (row) => String(row.overAdmitted)],
  ['under-admitted', (row) => String(row.underAdmitted)],
  ['phantom charges', (row) => String(row.phantom)],
  ['unsettled', (row) => String(row.unsettled)],
  ['', (row) => (row.wrong.length > 0 ? `WRONG: ${row.wrong.join(', ')}` : 'ok')],
  ['note', (row) => row.note],
]

/** The rows as a table for a terminal. */
export function formatTable(rows: readonly Row[]): string {
  const cells = [columns.map(([name]) => name), ...rows.map((row) => columns.map(([, text]) => text(row)))]
  const widths = columns.map((_, c) => Math.max(...cells.map((line) => line[c]!.length)))
  const isNumber = (c: number): boolean => c >= 1 && c <= 6
  const format = (line: readonly string[]): string =>
    line
      .map((text, c) =>
        isNumber(c) ? text.padStart(widths[c]!) : c === line.length - 1 ? text : text.padEnd(widths[c]!),
      )
      .join('  ')
  return [
    format(cells[0]!),
    widths.map((width, c) => '-'.repeat(c === widths.length - 1 ? 4 : width)).join('  '),
    ...cells.slice(1).map(format),
  ].join('\n')
}
