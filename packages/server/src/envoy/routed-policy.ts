import { type PolicySource, type RequestView, type SourcedDocument } from 'sluice'
import { type CompiledPolicy, compilePolicyInSlices } from 'sluice/policy'
import { documentOf } from '../policy/rule-changes.ts'
import { isRls } from './domains.ts'

type Matched = ReturnType<CompiledPolicy['match']>['rules'][number]
type Rule = { readonly name: string; readonly match?: { readonly method?: unknown; readonly query?: object } }
type Environment = Readonly<Record<string, string | undefined>>
type Document = { readonly rules?: readonly Rule[]; readonly version?: unknown }

/**
 * A policy whose rules for descriptors are tried in their order: the first that matches decides, alone. Elsewhere all
 * rules that match a request are charged; Envoy's descriptors fall through from the special to the general instead.
 */
export interface RoutedPolicy {
  /** The policy for the limiter: each rule for descriptors answers only requests that were routed to it. */
  readonly source: PolicySource
  /** The document in force, as it was written. */
  readonly document: unknown
  /** The same as an object: a long text takes seconds to parse, so nothing else should. */
  readonly parsed: unknown
  /** The rule that decides on a descriptor. */
  route(view: RequestView): Matched | undefined
  /** To be called when the limiter has put the newest document in force. */
  accepted(): void
}

interface Version {
  readonly document: unknown
  readonly parsed: unknown
  readonly rules: CompiledPolicy | undefined
}

/** Puts routing between a source and the limiter. */
export function routedPolicy(source: PolicySource, env: Environment): RoutedPolicy {
  let newest: Version = { document: undefined, parsed: undefined, rules: undefined }
  let inForce: Version = newest
  // Parsing is where the limiter waits: it asks for one document at a time, and decides by the old one meanwhile.
  const routed = (sourced: SourcedDocument): SourcedDocument => ({
    ...sourced,
    parse: async () => {
      const { document, parse } = sourced
      const parsed = parse ? await parse() : documentOf(document)
      const found = await split(parsed, env)
      newest = { document, parsed, rules: found?.rules }
      // A document with mistakes stays as it is: the limiter reports what is wrong with it and keeps the last good one.
      return found === undefined ? parsed : found.document
    },
  })
  return {
    source: {
      description: source.description,
      ...(source.service === undefined ? {} : { service: source.service }),
      start: async (listener) =>
        routed(
          await source.start({
            changed: (sourced) => listener.changed(routed(sourced)),
            failed: (error) => listener.failed(error),
            emptied: () => listener.emptied?.(),
            recovered: () => listener.recovered(),
          }),
        ),
      close: () => source.close(),
    },
    get document() {
      return inForce.document
    },
    get parsed() {
      return inForce.parsed
    },
    route: (view) => inForce.rules?.match(view, Date.now()).rules[0],
    accepted() {
      inForce = newest
    },
  }
}

/** The view of a descriptor that was routed to a rule. */
export function routedTo(rule: string, view: RequestView): RequestView {
  return { ...view, query: { rule } }
}

/** The rules for descriptors by themselves, and the document with each of them bound to its own name. */
async function split(
  given: unknown,
  env: Environment,
): Promise<{ rules: CompiledPolicy | undefined; document: unknown } | undefined> {
  try {
    const document = given as Document
    if (!document?.rules?.some(isRls)) return { rules: undefined, document: given }
    const { version } = await compilePolicyInSlices(document, { env })
    const bound = document.rules.map((rule) =>
      isRls(rule) ? { ...rule, match: { ...rule.match, query: { ...rule.match?.query, rule: rule.name } } } : rule,
    )
    return {
      rules: await compilePolicyInSlices({ ...document, rules: document.rules.filter(isRls) }, { env }),
      // The version people know is that of the document as it was written.
      document: { ...document, version, rules: bound },
    }
  } catch {
    return undefined
  }
}
