import type { Clock } from '../core/clock.ts'
import { buildSteps } from '../policy/compile/build-policy.ts'
import type { CompiledPolicy } from '../policy/compiled-policy.ts'
import type { LimitsSpec, PolicyDocument } from '../policy/document/document.ts'
import { IssueList } from '../policy/document/issue-list.ts'
import { PolicyError } from '../policy/document/policy-error.ts'
import { arePlainLimits } from '../policy/limit/plain-limits.ts'
import { followPolicy } from '../policy/live/followed-policy.ts'
import type { LivePolicy } from '../policy/live/live-policy.ts'
import { type OpenPolicyOptions, openPolicy } from '../policy/live/open-policy.ts'
import { staticPolicy } from '../policy/live/static-policy.ts'
import { runAtOnce } from '../policy/steps.ts'

/** The policy of one rule that `limits` in code stand for. Plain ones are not checked as documents are. */
export async function limitsPolicy(
  limits: LimitsSpec,
  service: string,
  name: string,
  own: OpenPolicyOptions & { readonly clock: Clock },
): Promise<LivePolicy> {
  const document: PolicyDocument = { service, rules: [{ name, key: 'ip', limits }] }
  const isPlain = arePlainLimits(limits) && isName(service) && isName(name) && own.fallbackPolicy === undefined
  try {
    if (!isPlain) return await openPolicy(document, own)
    return await followPolicy({ source: staticPolicy(document), compile: () => compile(document), clock: own.clock })
  } catch (error) {
    throw error instanceof PolicyError ? asWritten(error) : error
  }
}

/** The caller wrote `limits` and a `name`, and no rule. */
function asWritten({ issues, cause }: PolicyError): PolicyError {
  const written = issues.map((issue) => ({ ...issue, path: issue.path.replace(/^rules\[0\]\./, '') }))
  return new PolicyError(written, { cause })
}

function isName(name: unknown): boolean {
  return typeof name === 'string' && /^[\w.-]{1,64}$/.test(name)
}

function compile(document: PolicyDocument): CompiledPolicy {
  const issues = new IssueList()
  const policy = runAtOnce(buildSteps(document, {}, (path, value, message) => issues.add(path, value, message)))
  if (issues.all.length > 0) throw new PolicyError(issues.all)
  return policy
}
