import { withTotal } from '../../admission/usage/usage.ts'
import type { UsageReader } from '../../admission/usage/usage-reader.ts'
import type { Units } from '../booking/messages.ts'
import type { UpstreamRuntime } from '../upstream-runtime.ts'
import { answerAfter, hookAnswer } from './hooks.ts'
import type { ResponseHead } from './response-head.ts'
import { actualUnitsOf, raiseUnits } from './units.ts'

/**
 * What a response reports that its call cost. A stream that was cut reported only a part of its usage: `reserved`
 * stays, unless it already cost more.
 */
export function reportedUnits(
  runtime: UpstreamRuntime,
  { status, headers }: ResponseHead,
  reader: UsageReader | undefined,
  reserved: Units | undefined,
): Units | undefined {
  const { settle } = runtime.hooks
  const { limits } = runtime.upstream
  const units = settle
    ? answerAfter(runtime, 'settle', () =>
        actualUnitsOf(
          limits,
          runtime.givenCost(hookAnswer('settle', settle({ status, headers, body: reader?.text() }))),
        ),
      )
    : actualUnitsOf(limits, withTotal(reader?.usage()))
  return reserved && units ? raiseUnits(units, reserved) : units
}
