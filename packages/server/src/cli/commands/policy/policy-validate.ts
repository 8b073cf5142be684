import { PolicyError } from 'sluice'
import { policyWarnings } from 'sluice/policy'
import { documentOf } from '../../../policy/rule-changes.ts'
import { shortValue } from '../../../policy/short-value.ts'
import { limitedOnly } from '../../../policy/unlimited-requests.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { countOf } from '../../terminal/numbers.ts'
import { safe } from '../../terminal/text.ts'
import { compileApart } from './change.ts'
import { placeOf, readPlace } from './open-archive.ts'

/** A `PolicyError` lists no more. */
const mostListed = 200

/** Checks a policy; exits with 1 when it has mistakes. */
export async function policyValidate(input: Input, terminal: Terminal): Promise<ExitCode> {
  const { document, description } = await readPlace(placeOf(input))
  const { style } = terminal
  try {
    const { policy, functions } = compileApart(document)
    const { service, version, rules } = policy
    const upstreams = policy.upstreams.map(({ name }) => name)
    const warnings = [...policyWarnings(policy, Date.now()), ...functions.map(onlyInCode)]
    const names = rules.map(({ name }) => name)
    const limited = limitedOnly(documentOf(document)) ?? null
    terminal.result(
      { valid: true, source: description, service, version, rules: names, upstreams, limited, issues: [], warnings },
      () => {
        terminal.line(
          `${style.good('✓')} ${safe(description)} is good: service ${style.strong(service)}, version ${version}, ${countOf(rules.length, 'rule')}${upstreams.length === 0 ? '' : `, ${countOf(upstreams.length, 'upstream')}`}`,
        )
        for (const { name, mode } of rules)
          terminal.line(`    ${name}${mode === 'shadow' ? style.warn(' (shadow)') : ''}`)
        for (const upstream of upstreams) terminal.line(`    ${upstream} ${style.faint('(upstream)')}`)
        if (limited !== null && limited.length > 0)
          terminal.line(`${style.warn('!')} No rule limits other requests than: ${safe(limited.join('; '))}`)
        for (const warning of warnings) terminal.line(`${style.warn('!')} ${safe(warning)}`)
      },
    )
    return 0
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    const issues = error.issues.map(({ path, value, message }) => ({ path, value: shortValue(value), message }))
    const unknown = { service: null, version: null, rules: [], upstreams: [], limited: null }
    terminal.result({ valid: false, source: description, ...unknown, issues, warnings: [] }, () => {
      const many = issues.length === 1 ? 'one mistake' : `${issues.length} mistakes`
      const listed = issues.length < mostListed ? many : `${mostListed} mistakes or more`
      terminal.line(`${style.bad('✗')} ${safe(description)} has ${listed}:`)
      for (const { path, value, message } of issues) {
        const place = path === '' ? 'the document' : safe(path)
        terminal.line(`  ${style.strong(place)} is ${style.bad(safe(JSON.stringify(value) ?? 'missing'))}`)
        terminal.line(`    ${safe(message)}`)
      }
    })
    return 1
  }
}

function onlyInCode(name: string): string {
  return `The key fn:${name} is found by code: createLimiter needs functions: { ${name} }, and sluice serve cannot enforce it.`
}
