/** Formats rows as columns: the first aligned left, the others right. */
export function layOut(rows: readonly (readonly string[])[], indent = '  '): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const cell = (text: string, column: number): string =>
    column === 0 ? text.padEnd(widths[column]!) : text.padStart(widths[column]!)
  return rows.map((row) => `${indent}${row.map(cell).join('  ')}`.trimEnd()).join('\n')
}
