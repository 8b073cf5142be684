/** Adds to a count, and forgets one that has come to nothing. */
export function addUnits(counts: Map<string, number>, key: string, units: number): void {
  const sum = (counts.get(key) ?? 0) + units
  if (sum > 0) counts.set(key, sum)
  else counts.delete(key)
}
