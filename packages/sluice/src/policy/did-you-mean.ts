/** The known word nearest to a mistyped one, as a question for the end of a message; empty when none is near. */
export function didYouMean(word: string, known: readonly string[]): string {
  if (word.length > 40) return ''
  let best = ''
  let least = Math.max(2, Math.floor(word.length / 3)) + 1
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    if (distance < least && distance < candidate.length) [best, least] = [candidate, distance]
  }
  return best === '' ? '' : `did you mean ${JSON.stringify(best)}? `
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    }
    row = next
  }
  return row[b.length]!
}
