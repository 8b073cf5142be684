import { PolicyError } from 'sluice'
import { hideSecrets, hideUrl } from '../../../connections/hide-secrets.ts'
import { countOf } from '../../terminal/numbers.ts'
import { compileApart } from '../policy/compile-apart.ts'
import { readPlace } from '../policy/open-archive.ts'
import { type Finding, ok, problem, unreachable, warning } from './finding.ts'

/** Reads the policy of a place and says whether it makes sense. `learn` is called with its version. */
export async function examinePolicy(place: string, learn: (version: string) => void): Promise<Finding[]> {
  let read: { document: unknown; description: string }
  try {
    read = await readPlace(place)
  } catch (error) {
    const mend = 'correct --policy, or push a policy there: sluice policy push FILE --policy SOURCE'
    return [unreachable('policy source', `${hideUrl(place)}: ${hideSecrets((error as Error).message)}`, mend)]
  }
  const source = ok('policy source', `${read.description} was read`)
  try {
    const { service, version, rules } = compileApart(read.document).policy
    learn(version)
    const findings = [source, ok('policy', `service ${service}, version ${version}, ${countOf(rules.length, 'rule')}`)]
    if (rules.length > 0 && rules.every(({ mode }) => mode === 'shadow')) {
      findings.push(
        warning(
          'rules',
          'every rule only watches (mode: shadow), so nothing is ever denied',
          'take mode: shadow away where limits shall hold',
        ),
      )
    }
    return findings
  } catch (error) {
    const many = error instanceof PolicyError ? `${countOf(error.issues.length, 'mistake')}` : (error as Error).message
    return [source, problem('policy', `it has ${many}`, `see them with: sluice policy validate ${hideUrl(place)}`)]
  }
}
