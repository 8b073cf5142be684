import { claimAnswers } from './http-cases/answers.ts'
import { type StartHttpApp, usingApps } from './http-cases/app.ts'
import { claimOutcomes } from './http-cases/outcomes.ts'
import { claimPlaces } from './http-cases/places.ts'
import { claimTargets } from './http-cases/targets.ts'

export { type HttpAppOptions, type StartHttpApp, statusIn } from './http-cases/app.ts'

/** The slice of a test framework that the suite needs; `vitest` and `node:test` both have it. */
export interface HttpTestFramework {
  describe(name: string, body: () => void): unknown
  it(name: string, body: () => Promise<void>): unknown
}

/**
 * What every adapter for HTTP must do, for your own ones too.
 *
 * @example httpConformance('polka', startPolkaApp, { describe, it })
 */
export function httpConformance(subject: string, start: StartHttpApp, { describe, it }: HttpTestFramework): void {
  const using = usingApps(start)
  describe(`${subject} as an adapter for HTTP`, () => {
    claimAnswers(using, it)
    claimOutcomes(using, it)
    claimPlaces(using, it)
    claimTargets(using, it)
  })
}
