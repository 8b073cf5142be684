import { checkOptionNames } from '../core/check-options.ts'
import { claimAnswers } from './http-cases/answers.ts'
import { type StartHttpApp, usingApps } from './http-cases/app.ts'
import { claimOpening } from './http-cases/opening.ts'
import { claimOutcomes } from './http-cases/outcomes.ts'
import { claimPlaces } from './http-cases/places.ts'
import { claimReading } from './http-cases/reading.ts'
import { claimTargets } from './http-cases/targets.ts'
import type { TestFramework } from './test-framework.ts'

export { type HttpAppOptions, type StartHttpApp, statusIn } from './http-cases/app.ts'

export interface HttpConformanceOptions {
  /** What the adapter is for, for the report. */
  readonly name: string
  /** Starts an application that the adapter protects. */
  readonly start: StartHttpApp
}

/**
 * What every adapter for HTTP must do, for your own ones too. `node:test` has what it needs as well.
 *
 * @example
 * import { describe, it } from 'vitest'
 * httpConformance({ describe, it }, { name: 'polka', start: startPolkaApp })
 */
export function httpConformance(
  { describe, it }: Pick<TestFramework, 'describe' | 'it'>,
  options: HttpConformanceOptions,
): void {
  checkOptionNames('httpConformance', options, ['name', 'start'])
  const { name, start } = options
  const using = usingApps(start)
  describe(`${name} as an adapter for HTTP`, () => {
    claimAnswers(using, it)
    claimOpening(start, it)
    claimOutcomes(using, it)
    claimPlaces(using, it)
    claimReading(using, it)
    claimTargets(using, it)
  })
}
