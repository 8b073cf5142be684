/** The known word nearest to a mistyped one; undefined when none is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const begun = known.filter((candidate) => word.length >= 2 && candidate.startsWith(word))
  if (begun.length === 1) return begun[0]
  let best: string | undefined
  // Short words are near to too much: tcsh is not a bash.
  let least = Math.floor(word.length / 3) + 1
  for (const candidate of known) {
    const distance = editDistance(word.slice(0, 64), candidate)
    if (distance < least && distance < candidate.length) [best, least] = [candidate, distance]
  }
  return best
}

/** How many letters must be added, dropped, replaced or swapped with their neighbour. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, replaced, swapped))
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}
