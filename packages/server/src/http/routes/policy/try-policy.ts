import { type LookupFunctions, remembered } from '../../../lookups.ts'
import { keyShapes } from '../../../policy/overrides/key-shapes.ts'
import { compareReplays } from '../../../recent/replay/compare.ts'
import { hideInDocument } from '../../../recent/replay/hide-in-document.ts'
import { replay } from '../../../recent/replay/replay.ts'
import { HttpProblem } from '../../problem.ts'
import type { Routes } from '../../router.ts'
import { readDocument } from './policy.ts'
import { checked } from './push-policy.ts'

/**
 * `POST /v1/policy/try`: replays the last requests of this daemon through a document and through the policy that runs,
 * and puts side by side who would have been denied. Nothing is spent and nothing changes.
 */
export const tryPolicyRoute: Routes = ({ read }, parts) => {
  let isBusy = false
  read.post('/v1/policy/try', async function tryPolicy(c) {
    const document = await readDocument(c)
    const { policy, parsed } = await checked(parts, document, c.req.raw.signal)
    if (policy.service !== parts.limiter.policy.service)
      throw new HttpProblem(409, `The document is for ${JSON.stringify(policy.service)}, so no request here is for it.`)
    // One replay at a time: what decides comes first.
    if (isBusy) throw new HttpProblem(503, 'Another policy is being tried; try again in a moment.')
    isBusy = true
    try {
      const requests = parts.ring.all()
      const [running, tried] = [parts.policy.document?.parsed, parsed].map((each) => hideInDocument(each, parts.hide))
      const { env } = parts
      const lookups = parts.lookups && remembered(parts.lookups)
      const outcomes = [
        await replay(running!.document, requests, { env, lookups }),
        await replay(tried!.document, requests, { env, lookups }),
      ] as const
      return c.json({
        version: policy.version,
        inForce: parts.limiter.policy.status.version,
        ...compareReplays(requests, outcomes[0], outcomes[1], policy),
        notes: [...tried!.notes, ...unknownTiers(parsed, parts.lookups)],
      })
    } finally {
      isBusy = false
    }
  })
}

/** The rules of a document whose tiers are not known here, in words. */
function unknownTiers(document: unknown, lookups: LookupFunctions = {}): readonly string[] {
  const rules = [...keyShapes(document)].filter(([, { lookup }]) => lookup !== undefined && !(lookup in lookups))
  return rules.map(
    ([name, { lookup }]) =>
      `The rule ${name} has the tiers of the lookup ${lookup}, which is not here: every key had the default. Start the daemon with --lookup ${lookup}=postgres:TABLE.`,
  )
}
