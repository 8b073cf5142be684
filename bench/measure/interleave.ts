import type { RoundResult } from './round.ts'

/** An entrant that can be measured repeatedly. */
export interface Entrant {
  readonly label: string
  round(): Promise<RoundResult>
}

/**
 * Runs every entrant to warm up, as long as three rounds, and then all of them in turn, round by round: the speed of
 * the machine changes by tens of percent within minutes, but little between one round and the next. Every other round
 * runs backwards, so that none always follows the same.
 */
export async function interleave(entrants: readonly Entrant[], rounds: number): Promise<Map<string, RoundResult[]>> {
  const results = new Map<string, RoundResult[]>(entrants.map(({ label }) => [label, []]))
  for (const entrant of entrants) for (let warmUp = 0; warmUp < 3; warmUp++) await entrant.round()
  for (let round = 0; round < rounds; round++) {
    const turn = round % 2 === 0 ? entrants : entrants.toReversed()
    for (const entrant of turn) results.get(entrant.label)!.push(await entrant.round())
  }
  return results
}
