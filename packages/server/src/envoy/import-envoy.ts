import { compilePolicy } from 'sluice/policy'
import { parse, stringify } from 'yaml'
import { rulesOf } from './imported-rules.ts'
import { type EnvoyNode, Findings, InvalidEnvoyConfig, readNodes } from './read-config.ts'

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
 * Turns configurations of Envoy's `ratelimit` service into a policy that answers the same. Several files, each with its
 * domain, become one policy. Throws when something cannot be kept as it was.
 *
 * @example importEnvoy([readFileSync('ratelimit.yaml', 'utf8')]).yaml
 */
export function importEnvoy(texts: readonly string[], options: ImportOptions = {}): ImportedPolicy {
  const found = new Findings()
  const domains = new Map<string, readonly EnvoyNode[]>()
  for (const text of texts) {
    const { domain, descriptors } = (parse(text) ?? {}) as { domain?: unknown; descriptors?: unknown }
    if (typeof domain !== 'string' || domain === '') found.problem('domain', domain, 'give the domain, as text')
    else if (domains.has(domain)) found.problem('domain', domain, 'another file has this domain already')
    else
      domains.set(domain, readNodes(descriptors, texts.length === 1 ? 'descriptors' : `${domain}: descriptors`, found))
  }
  if (found.problems.length > 0) throw new InvalidEnvoyConfig(found.problems)
  const names = new Set<string>()
  const rules = [...domains].flatMap(([domain, nodes]) => rulesOf(domain, nodes, names))
  if (rules.length === 0) throw new InvalidEnvoyConfig(['there is no limit in it'])
  const document = { service: options.service ?? [...domains.keys()][0]!, rules }
  // What cannot be enforced must show now, not when it is served.
  compilePolicy(document)
  const comment = `Imported from Envoy ratelimit configuration: ${[...domains.keys()].join(', ')}. Of the rules with method RLS, the first\nthat matches a descriptor decides; see docs/envoy.md.`
  const yaml = `${comment.replace(/^/gm, '# ')}\n${stringify(document, { lineWidth: 120 })}`
  return { document, yaml, warnings: found.warnings }
}
