/** Nobody encodes more often than this; decoding once more for every few characters would take long. */
const mostRounds = 8

/** Whether a path has a segment that some server reads as `.` or `..`, however it is written. */
export function hasDotSegments(path: string): boolean {
  // Without a dot, written or encoded, no segment can be one.
  return /[.%]/.test(path) && path.split('/').some(mayBeDots)
}

/** Servers behind servers decode more than once. */
function mayBeDots(segment: string): boolean {
  let decoded = segment
  for (let round = 0; /%[0-9a-f]{2}/i.test(decoded) || (round === 0 && decoded.includes('%')); round++) {
    if (round === mostRounds) return true
    try {
      decoded = decodeURIComponent(decoded)
    } catch {
      return true
    }
  }
  // To some servers, what follows a semicolon is not part of the name.
  const names = decoded.split(/[/\\]/).map((piece) => piece.split(';', 1)[0])
  return decoded.includes('\0') || names.some((name) => name === '.' || name === '..')
}
