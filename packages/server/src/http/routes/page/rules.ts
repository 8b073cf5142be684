import type { RuleStats } from 'sluice/reports'
import { leadingAmong, leadingKey } from '../../../recent/leading-key.ts'
import { fleetRules } from '../../../recent/overview.ts'
import { fullnessOf, maxSubjects, type RuleDescription, ruleDescriptions } from '../../../recent/rule-details.ts'
import { stepMs } from '../../../recent/rule-history.ts'
import { sharedFor } from '../../../recent/shared-for.ts'
import type { RuleDetails, RuleSummary } from '../../../shapes/page.ts'
import type { ApiParts } from '../../api-parts.ts'
import { HttpProblem } from '../../problem.ts'
import type { Routes } from '../../router.ts'

const sharedMs = 1000

/** `GET /v1/rules`: every rule with what it decided in the last 15 minutes; `/v1/rules/{name}`: one with its keys. */
export const rulesRoute: Routes = ({ read }, parts) => {
  const { limiter, policy, live } = parts
  const describe = ruleDescriptions(policy)
  const statsNow = sharedFor(sharedMs, () => statsByRule(parts, leadingAmong))

  read.get('/v1/rules', function list(c) {
    const stats = statsNow()
    const rules = [...describe().values()].map((rule) => summary(parts, rule, stats.get(rule.name)))
    return c.json({ service: limiter.policy.service, stepMs, replicas: 1 + live.fleet.reports.length, rules })
  })

  read.get('/v1/rules/:name', async function one(c) {
    const rule = describe().get(c.req.param('name'))
    if (rule === undefined) throw new HttpProblem(404, `The policy has no rule ${JSON.stringify(c.req.param('name'))}.`)
    const stats = statsByRule(parts, maxSubjects, rule.name).get(rule.name)
    const { hottest = [], mostDenied = [], keysOverMs = 0 } = stats ?? {}
    return c.json({
      ...summary(parts, rule, stats),
      stepMs,
      ...{ match: rule.match, key: rule.key, tier: rule.tier, onStoreFailure: rule.onStoreFailure },
      keysOverMs,
      hottest: hottest.slice(0, 10),
      mostDenied: mostDenied.slice(0, 10),
      fullness: await fullnessOf(limiter, [...hottest, ...mostDenied]),
      denials: live.denials.of(rule.name),
    } satisfies RuleDetails)
  })
}

function statsByRule({ live, counter }: ApiParts, top: number, only?: string): Map<string, RuleStats> {
  return new Map(fleetRules(live, counter, top, only).map((each) => [each.rule, each]))
}

function summary({ live }: ApiParts, rule: RuleDescription, stats: RuleStats | undefined): RuleSummary {
  const hottest = leadingKey(stats?.hottest ?? [])
  const mostDenied = leadingKey(stats?.mostDenied ?? [])
  return {
    ...{ name: rule.name, mode: rule.mode, byTier: rule.tier !== null, limits: rule.limits },
    history: live.rules.of(rule.name),
    allowed: stats?.allowed ?? 0,
    denied: stats?.denied ?? 0,
    shadow: stats?.shadow ?? { allowed: 0, denied: 0 },
    hottestKey: hottest.key,
    mostDeniedKey: mostDenied.key,
    keysAlike: { hottest: hottest.isAlike, mostDenied: mostDenied.isAlike },
  }
}
