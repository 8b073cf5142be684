import { checkOptionNames } from '../../core/check-options.ts'
import { compileCapacity } from '../capacity/compile-capacity.ts'
import type { CompiledPolicy } from '../compiled-policy.ts'
import { checkDocument } from '../document/check-document.ts'
import { isLegacyDocument, readLegacyDocument, withoutDatabaseFields } from '../document/legacy-document.ts'
import { measureSteps } from '../document/parse/document-bounds.ts'
import { parseDocument } from '../document/parse/parse-document.ts'
import { IssueList, PolicyError, type Report } from '../document/policy-error.ts'
import { runAtOnce, runInSlices, type Steps } from '../steps.ts'
import { compileUpstreams } from '../upstream/compile-upstreams.ts'
import { buildSteps, type CompileOptions } from './build-policy.ts'

const names = ['env', 'functions', 'lookups']

/**
 * Checks a policy document and makes it ready for decisions. Throws a `PolicyError` that lists every mistake.
 *
 * @example compilePolicy({ service: 'api', rules: [{ name: 'per-user', limits: { rpm: 100 } }] })
 */
export function compilePolicy(document: unknown, options: CompileOptions = {}): CompiledPolicy {
  checkOptionNames('compilePolicy', options, names)
  return runAtOnce(compileSteps(document, options))
}

/**
 * The same for a policy that is replaced while decisions go on: a large one is compiled in slices of a few
 * milliseconds. An abort ends it.
 */
export async function compilePolicyInSlices(
  document: unknown,
  options: CompileOptions & { readonly signal?: AbortSignal | undefined } = {},
): Promise<CompiledPolicy> {
  checkOptionNames('compilePolicyInSlices', options, [...names, 'signal'])
  return runInSlices(compileSteps(document, options), options.signal)
}

export function* compileSteps(document: unknown, options: CompileOptions): Steps<CompiledPolicy> {
  const issues = new IssueList()
  const report: Report = (path, value, message) => issues.add(path, value, message)
  const parsed = typeof document === 'string' ? parseDocument(document) : document
  if (!(yield* measureSteps(parsed, report))) throw new PolicyError(issues.all)
  const checked = isLegacyDocument(parsed)
    ? readLegacyDocument(parsed, report)
    : yield* checkDocument(withoutDatabaseFields(parsed), report)
  const rules = checked && (yield* buildSteps(checked, options, report))
  const upstreams = compileUpstreams(checked?.upstreams ?? [], report)
  const capacity = checked?.capacity && compileCapacity(checked.capacity, 'capacity', report)
  if (!rules || issues.all.length > 0) throw new PolicyError(issues.all)
  return { ...rules, upstreams, capacity }
}
