import type { HoldOptions, Subject } from 'sluice'
import { optionsOf } from '../../../options-of.ts'
import { checkKey } from '../../../policy/overrides/check-key.ts'
import { Reserve, Settle } from '../../../shapes/decisions.ts'
import { decisionJson } from '../../decision-json.ts'
import { type CheckInput, checkInput } from '../../input/inputs.ts'
import { readBody } from '../../input/read-body.ts'
import { madeInTime } from '../../problem.ts'
import type { Routes } from '../../router.ts'

/** `POST /v1/reserve` takes units whose final cost is not known yet; `POST /v1/settle` says what it was. */
export const holdRoutes: Routes = ({ decide }, { limiter, policy, ring }) => {
  decide.post('/v1/reserve', async function reserve(c) {
    const body = await readBody(c, Reserve)
    const { kind = 'reserve', id, ttl } = body
    const input = checkInput(body)
    const options: HoldOptions = {
      ...optionsOf(input),
      // The client holds it, and this process does not know whether the client lives.
      renew: false,
      ...(id === undefined ? {} : { id }),
      ...(ttl === undefined ? {} : { ttl }),
    }
    if ('key' in input) checkKey(policy.current, input.key, input.rule)
    const atMs = Date.now()
    const hold = await limiter[kind](subjectOf(input), options)
    madeInTime(hold.decision)
    ring.add(input, hold, atMs)
    return c.json({ id: hold.id, allowed: hold.allowed, decision: decisionJson(hold.decision) })
  })

  decide.post('/v1/settle', async function settle(c) {
    const { id, actual, ...body } = await readBody(c, Settle)
    const input = checkInput(body)
    const { rule } = optionsOf(input)
    return c.json({ settled: await limiter.settle(subjectOf(input), id, actual, rule === undefined ? {} : { rule }) })
  })
}

function subjectOf(input: CheckInput): Subject {
  return 'request' in input ? input.request : input.key
}
