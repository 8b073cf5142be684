/** The known word nearest to a mistyped one, as a question for a message; empty when none is near. */
export function didYouMean(word: string, known: readonly string[]): string {
  const near = nearestWord(word, known)
  return near === undefined ? '' : `did you mean ${JSON.stringify(near)}? `
}

/** What is wrong with a name that nothing has, and the names there are. */
export function noneCalled(what: string, name: string, known: Iterable<string>): string {
  const all = [...known]
  return `no ${what} of that name; ${didYouMean(name, all)}known are ${all.join(', ') || 'none'}`
}

/**
 * The known word nearest to a mistyped one; undefined when none is near.
 *
 * @example nearestWord('chekc', ['check', 'serve']) // 'check'
 */
export function nearestWord(word: string, known: readonly string[]): string | undefined {
  if (word.length > longest) return undefined
  const begun = known.filter((candidate) => word.length >= 2 && candidate.startsWith(word))
  if (begun.length === 1) return begun[0]
  let best: string | undefined
  // Short words are near to too much: tcsh is not a bash.
  let least = Math.max(1, Math.floor(word.length / 3)) + 1
  for (const candidate of known) {
    const edits = editDistance(word.toLowerCase(), candidate.toLowerCase())
    if (edits >= candidate.length) continue
    const distance = word.startsWith(candidate) ? edits - 0.5 : edits
    if (distance < least) [best, least] = [candidate, distance]
  }
  return best
}

/** Nobody mistypes a longer word of ours, and comparing long texts takes long. */
const longest = 64

/** How many letters must be added, dropped, replaced or swapped with their neighbour. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let least = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, before[j - 2]! + 1)
      next.push(least)
    }
    before = row
    row = next
  }
  return row[b.length]!
}
