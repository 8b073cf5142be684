import { compilePolicy } from 'sluice/policy'
import { type Document, parseDocument, stringify, visit } from 'yaml'
import { comparedDomain } from './domains.ts'
import { Findings, InvalidEnvoyConfig } from './findings.ts'
import { nameIn, rulesOf } from './imported-rules.ts'
import { duplicatesIn, type EnvoyConfig, type EnvoyNode, readConfig } from './read-config.ts'

/** A file of Envoy's `ratelimit` service. */
export interface EnvoyFile {
  /** What messages call it. */
  readonly name: string
  readonly text: string
}

/** A policy made from Envoy configuration. */
export interface ImportedPolicy {
  readonly document: { readonly service: string; readonly rules: readonly Record<string, unknown>[] }
  /** The document as text, with a comment that says where it came from. */
  readonly yaml: string
  /** What was left out because it changes no decision, in full sentences. */
  readonly warnings: readonly string[]
}

export interface ImportOptions {
  /** The service of the policy; the first domain unless said otherwise. */
  readonly service?: string
}

/**
 * Turns configurations of Envoy's `ratelimit` service into a policy that answers the same. Several files become one
 * policy, and those of one domain are merged in their order. Throws when something cannot be kept as it was, and names
 * the file and the place.
 *
 * @example importEnvoy([{ name: 'ratelimit.yaml', text: readFileSync('ratelimit.yaml', 'utf8') }]).yaml
 */
export function importEnvoy(files: readonly EnvoyFile[], options: ImportOptions = {}): ImportedPolicy {
  const { configs, problems, warnings } = readAll(files)
  if (problems.length > 0) throw new InvalidEnvoyConfig(problems)
  const names = new Set<string>()
  const rules = configs.flatMap(({ domain, nodes }) => rulesOf(domain, nodes, names))
  if (rules.length === 0) throw new InvalidEnvoyConfig(['there is no limit in it'])
  const domains = configs.map(({ domain }) => domain)
  const document = { service: options.service ?? domains[0]!, rules }
  // What cannot be enforced must show now, not when it is served.
  compilePolicy(document)
  const comment = `Imported from Envoy ratelimit configuration: ${domains.join(', ')}. Of the rules with method RLS, the first\nthat matches a descriptor decides; see docs/envoy.md.`
  const yaml = `${comment.replace(/^/gm, '# ')}\n${stringify(document, { lineWidth: 120 })}`
  return { document, yaml, warnings }
}

function readAll(files: readonly EnvoyFile[]): Pick<Findings, 'problems' | 'warnings'> & { configs: EnvoyConfig[] } {
  const byDomain = new Map<string, { config: EnvoyConfig; file: EnvoyFile }>()
  const problems: string[] = []
  const warnings: string[] = []
  for (const file of files) {
    const found = new Findings(file.name)
    try {
      const config = readConfig(parseConfig(file.text), found)
      const { domain } = config
      const other = byDomain.get(comparedDomain(domain))
      if (domain !== '' && other !== undefined && other.config.domain !== domain)
        found.problem(
          'domain',
          domain,
          `${other.file.name} has it already; domains are compared without regard to case`,
        )
      else if (other !== undefined) found.warn('domain', `was merged with that of ${other.file.name}.`)
      byDomain.set(comparedDomain(domain), {
        config: { domain, nodes: [...(other?.config.nodes ?? []), ...config.nodes] },
        file: other?.file ?? file,
      })
    } catch (error) {
      found.problems.push(`${file.name}: ${(error as Error).message}`)
    }
    problems.push(...found.problems)
    warnings.push(...found.warnings)
  }
  const configs = [...byDomain.values()].map(({ config }) => config)
  const isReported = new Set(problems)
  problems.push(...configs.flatMap(({ nodes }) => duplicatesIn(nodes)).filter((problem) => !isReported.has(problem)))
  warnings.push(...configs.flatMap(({ nodes }) => replacedByNone(nodes)))
  return { configs, problems, warnings }
}

/** What `replaces` names and no limit of the domain is called. */
function replacedByNone(nodes: readonly EnvoyNode[]): string[] {
  const all = nodes.flatMap(function below(node): EnvoyNode[] {
    return [node, ...node.children.flatMap(below)]
  })
  const names = new Set(all.map(nameIn))
  return all.flatMap(({ place, replaces }) =>
    replaces
      .filter((name) => !names.has(name))
      .map(
        (name) =>
          `${place}.rate_limit.replaces names ${JSON.stringify(name)}, and no limit of the domain has that name.`,
      ),
  )
}

/**
 * Parses a configuration as Envoy's service reads it: every scalar is its text, and null stays null. Go's YAML puts
 * `value: 007` into a text field as it is written; as a number it would be 7, and match nothing that is sent.
 */
function parseConfig(text: string): unknown {
  const document = parseDocument(text)
  const [error] = document.errors
  // What follows the first line is a picture of the place.
  if (error !== undefined) throw new Error(error.message.split('\n')[0]!.replace(/:$/, ''))
  keepTexts(document)
  return document.toJS()
}

function keepTexts(document: Document): void {
  visit(document, {
    Scalar(_, scalar) {
      if (scalar.tag !== undefined && scalar.tag !== 'tag:yaml.org,2002:str')
        throw new Error(`the tag ${scalar.tag} is not supported; write plain or quoted text`)
      if (scalar.value !== null && scalar.source !== undefined) scalar.value = scalar.source
    },
  })
}
