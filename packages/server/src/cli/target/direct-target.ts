import { createLimiter, type Limiter } from 'sluice'
import { type LivePolicy, openPolicy } from 'sluice/policy'
import { redisFrom } from '../../config/redis-from.ts'
import { decisionJson, explanationJson, limitsJson } from '../../http/decision-json.ts'
import { closeAll, type Opened } from '../../opened.ts'
import { optionsOf } from '../../options-of.ts'
import { explainRequest } from '../../policy/explain-request.ts'
import { checkKey } from '../../policy/overrides/check-key.ts'
import { openSource } from '../../policy/place/open-source.ts'
import { parsePolicyPlace } from '../../policy/place/policy-place.ts'
import { wrongUse } from '../cli-error.ts'
import type { Input } from '../command.ts'
import { openStore } from './open-store.ts'
import type { NamedKey } from './subject.ts'
import type { Target } from './target.ts'

/** A target that has something open. */
interface OpenTarget extends Target {
  close(): Promise<void>
}

/** Works on the store itself, by the policy that the services use. */
export async function directTarget(input: Input, needsStore: boolean): Promise<OpenTarget> {
  const place = input.text('policy')
  if (place === undefined)
    throw wrongUse('without a daemon a policy is needed: --policy sluice.yaml', 'it must be the one the services use')
  const target = redisFrom(input)
  if (target === undefined && needsStore)
    throw wrongUse('without a daemon the counters are needed: --redis redis://HOST', 'a daemon is named with --url')
  const redis = target && (await openStore(target))
  const opened: Opened = [() => redis?.close()]
  try {
    const { source, close } = await openSource(parsePolicyPlace(place, undefined, '--policy'))
    opened.push(close)
    const policy = await openPolicy(source)
    opened.push(() => policy.close())
    const store = redis === undefined ? {} : { store: redis.open() }
    const limiter = await createLimiter({ policy, denyCache: false, ...store })
    opened.push(() => limiter.close())
    const description = redis?.description ?? 'an empty store in memory'
    return { ...limiterTarget(limiter, policy, description), close: () => closeAll(opened) }
  } catch (error) {
    await closeAll(opened)
    throw error
  }
}

function limiterTarget(limiter: Limiter, policy: LivePolicy, description: string): Target {
  const ruleOf = ({ service, rule, key }: NamedKey): { rule?: string } => {
    const { service: own } = limiter.policy
    if (service !== undefined && service !== own)
      throw wrongUse(`the key is of service ${JSON.stringify(service)}; the policy is of ${JSON.stringify(own)}`)
    checkKey(policy.current, key, rule)
    return rule === undefined ? {} : { rule }
  }
  return {
    description,
    take: async (key, options) => decisionJson(await limiter.take(key.key, { ...ruleOf(key), ...optionsOf(options) })),
    check: async (request, { cost }) => decisionJson(await limiter.check(request, optionsOf({ cost }))),
    explain: async (request) => explanationJson(await explainRequest(limiter, policy, request)),
    inspect: async (key, tier) => {
      const inspection = await limiter.inspect(key.key, { ...ruleOf(key), ...optionsOf({ tier }) })
      return { ...inspection, limits: limitsJson(inspection.limits), fixed: inspection.fixed ?? null }
    },
    reset: async (key) => limiter.reset(key.key, ruleOf(key)),
    block: async (key, length) => limiter.block(key.key, { ...ruleOf(key), for: length }),
    unblock: async (key) => limiter.unblock(key.key, ruleOf(key)),
  }
}
