import { noneCalled } from '../../core/did-you-mean.ts'
import { show } from '../../core/errors.ts'
import { keyPartAt } from '../../core/key.ts'
import { warnOnce } from '../../core/observe/warn-once.ts'
import type { TierSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import { isLimitsText } from '../lookup/is-limits-text.ts'
import type { Lookup } from '../lookup/lookup.ts'
import type { LookupSource } from '../lookup/lookup-options.ts'
import type { RequestView } from '../request-view.ts'
import { compileSelector } from '../selector/compile-selector.ts'
import type { Captured, Selector } from '../selector/selector.ts'
import type { RuleKey } from './rule-key.ts'
import { type Environment, environmentTiers } from './tier-environment.ts'

/** Finds the tier of a subject. */
export interface TierFinder {
  /** The tier of a request, or undefined when it has none. */
  ofRequest(request: RequestView, captured: Captured | undefined, subject: string): string | undefined
  /** The tier of a key, where it can be derived from the key. */
  ofSubject(subject: string): string | undefined
  /** The tier of those whose tier is unknown; undefined when the rule's own limits are theirs. */
  readonly otherwise: string | undefined
  readonly names: ReadonlySet<string>
  /** What the id is read with, where it is read from the request and not found in the key. */
  readonly selector: Selector | undefined
  /**
   * Whether a key alone does not tell the tier: only a request or a caller does, or a lookup that is not here. Of a
   * request, whether the field of the context that tells it was not given.
   */
  isUnknown(request?: RequestView): boolean
  /** Whether a request names a tier that is none. */
  namesNone(request: RequestView, captured: Captured | undefined): boolean
}

const nothing: RequestView = Object.freeze({ method: '', path: '', headers: {} })

/** Compiles `tier`. Every name of a tier that stands in the policy or the environment must be known. */
export function compileTier(
  spec: TierSpec,
  key: RuleKey | undefined,
  names: ReadonlySet<string>,
  env: Environment,
  lookups: LookupSource | undefined,
  path: string,
  report: Report,
): TierFinder {
  const known = (name: string, at: string): string | undefined => {
    if (names.has(name)) return name
    report(at, name, noneCalled('tier', name, names))
    return undefined
  }
  const form = typeof spec === 'string' ? { by: spec } : spec
  const by = compileBy(form.by, key, typeof spec === 'string' ? path : `${path}.by`, report)
  const mapped = form.map && new Map(Object.entries(form.map))
  for (const [id, name] of mapped ?? []) known(name, `${path}.map.${id}`)
  const environment = form.env ? environmentTiers(form.env, env, known) : undefined
  const fromText = typeof spec === 'string' ? by?.selector?.read(nothing, undefined) : undefined
  const otherwise =
    environment?.otherwise ??
    (form.default !== undefined ? known(form.default, `${path}.default`) : undefined) ??
    (fromText !== undefined ? known(fromText, path) : undefined)
  const lookup = form.lookup === undefined ? undefined : findLookup(form.lookup, lookups, `${path}.lookup`, report)
  for (const other of form.lookup === undefined ? [] : (['map', 'env'] as const))
    if (form[other]) report(`${path}.${other}`, form[other], 'the lookup says the tier; leave this or the lookup out')
  const warn = warnOnce('SLUICE_UNKNOWN_TIER')
  const found = (id: string): string | undefined => {
    const name = lookup?.tierOf(id)
    if (name === undefined || names.has(name) || isLimitsText(name)) return name
    if (name === 'unlimited' || name === 'deny') return JSON.stringify(name)
    warn(`The lookup ${form.lookup} said ${show(name)}, which is no tier of the policy, so that the default holds.`)
    return undefined
  }
  const nameOf = (id: string | undefined): string | undefined => {
    if (id === undefined) return otherwise
    if (form.lookup !== undefined) return found(id) ?? otherwise
    if (!mapped && !environment) return names.has(id) ? id : otherwise
    return mapped?.get(id) ?? environment?.of(id) ?? otherwise
  }
  const isNotHere = form.lookup !== undefined && lookups === undefined
  const isSaidElsewhere = (by?.isFromRequest ?? false) || isOnlyNamedByCallers(form)
  const ofSubject = (subject: string): string | undefined => nameOf(by?.ofSubject(subject))
  return {
    otherwise,
    names,
    selector: by?.selector,
    isUnknown: (request) =>
      isNotHere || (request ? by?.selector?.root === 'context' && !by.selector.has(request) : isSaidElsewhere),
    namesNone(request, captured) {
      const id = by?.selector?.read(request, captured)
      return id !== undefined && !form.lookup && !mapped && !environment && !names.has(id)
    },
    ofSubject,
    ofRequest: (request, captured, subject) =>
      by?.selector ? nameOf(by.selector.read(request, captured)) : ofSubject(subject),
  }
}

/** Whether nothing but `take(key, { tier })` can name another tier than the default. */
function isOnlyNamedByCallers({ by, map, env, lookup }: Exclude<TierSpec, string>): boolean {
  return by === undefined && map === undefined && !env && lookup === undefined
}

function findLookup(name: string, lookups: LookupSource | undefined, path: string, report: Report): Lookup | undefined {
  const lookup = lookups?.find(name)
  if (lookups && !lookup)
    report(path, name, `${noneCalled('lookup', name, lookups.names)}; give createLimiter({ lookups: { ${name} } })`)
  return lookup
}

interface By {
  /** Reads the id from a request; undefined when only the key has it. */
  readonly selector: Selector | undefined
  ofSubject(subject: string): string | undefined
  readonly isFromRequest: boolean
}

// The id is a part of the key (`key[1]`, the first unless said otherwise), or read from the request. A selector that
// also stands in the key is found there again, so that `take` with a key knows the tier too.
function compileBy(text: string | undefined, key: RuleKey | undefined, path: string, report: Report): By | undefined {
  const selector = compileSelector(text ?? 'key[0]')
  if (typeof selector === 'string') {
    report(path, text, selector)
    return undefined
  }
  if (selector.root === 'key') {
    if (!Number.isInteger(selector.part)) report(path, text, 'write the place of a part, such as key[0]')
    return {
      selector: undefined,
      isFromRequest: false,
      ofSubject: (subject) => selector.finish(partOf(subject, selector.part, key)),
    }
  }
  const index = key?.numbered ? -1 : (key?.alternatives[0]?.selectors?.findIndex((part) => part.text === text) ?? -1)
  if (!key) report(path, text, 'a rule without a key cannot read requests; use key[0], the first part of the key')
  const isFromRequest = index < 0 && selector.root !== 'const'
  return { selector, isFromRequest, ofSubject: (subject) => (index < 0 ? undefined : partOf(subject, index, key)) }
}

function partOf(subject: string, index: number, key: RuleKey | undefined): string | undefined {
  const part = keyPartAt(subject, key?.numbered ? index + 1 : index)
  return part === undefined || part === '' ? undefined : String(part)
}
