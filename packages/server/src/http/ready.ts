import type { PartHealth } from 'sluice/internal'

/** The answer of `/ready`: what the parts of a process say, and whether it is ending. */
export async function readiness(
  isEnding: boolean,
  ...asked: readonly (Promise<PartHealth> | undefined)[]
): Promise<PartHealth> {
  const parts = (await Promise.all(asked)).filter((health) => health !== undefined)
  const ending = isEnding ? ['The process is ending.'] : []
  return {
    ready: !isEnding && parts.every(({ ready }) => ready),
    reasons: [...ending, ...parts.flatMap(({ reasons }) => reasons)],
    warnings: parts.flatMap(({ warnings }) => warnings),
  }
}
