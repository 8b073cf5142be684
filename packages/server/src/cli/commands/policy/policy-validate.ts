import { PolicyError } from 'sluice'
import { policyWarnings } from 'sluice/policy'
import { shortValue } from '../../../policy/short-value.ts'
import type { ExitCode } from '../../exit-codes.ts'
import type { Input } from '../../input.ts'
import { compileApart } from '../../policy/compile-apart.ts'
import { readPlace } from '../../policy/open-archive.ts'
import { countOf } from '../../terminal/numbers.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { safe } from '../../terminal/text.ts'

/** A `PolicyError` lists no more. */
const mostListed = 200

/** Checks a policy; exits with 1 when it has mistakes. */
export async function policyValidate(input: Input, terminal: Terminal): Promise<ExitCode> {
  const { document, description } = await readPlace(input.args[0] ?? input.text('policy') ?? 'sluice.yaml')
  const { style } = terminal
  try {
    const { policy, functions } = compileApart(document)
    const { service, version, rules } = policy
    const warnings = [...policyWarnings(policy, Date.now()), ...functions.map(onlyInCode)]
    const names = rules.map(({ name }) => name)
    terminal.result({ valid: true, source: description, service, version, rules: names, issues: [], warnings }, () => {
      terminal.line(
        `${style.good('✓')} ${safe(description)} is good: service ${style.strong(service)}, version ${version}, ${countOf(rules.length, 'rule')}`,
      )
      for (const { name, mode } of rules)
        terminal.line(`    ${name}${mode === 'shadow' ? style.warn(' (shadow)') : ''}`)
      for (const warning of warnings) terminal.line(`${style.warn('!')} ${safe(warning)}`)
    })
    return 0
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    const issues = error.issues.map(({ path, value, message }) => ({ path, value: shortValue(value), message }))
    const unknown = { service: null, version: null, rules: [] }
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
