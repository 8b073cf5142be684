import { didYouMean } from '../../core/did-you-mean.ts'
import { decodeKey } from '../../core/key.ts'
import type { TierSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import type { RequestView } from '../request-view.ts'
import { type Captured, compileSelector, type Selector } from '../selector/selector.ts'
import type { RuleKey } from './key.ts'
import { type Environment, environmentTiers } from './tier-environment.ts'

/** Finds the tier of a subject. */
export interface TierFinder {
  /** The tier of a request, or undefined when it has none. */
  ofRequest(request: RequestView, captured: Captured | undefined, subject: string): string | undefined
  /** The tier of a key, where it can be derived from the key. */
  ofSubject(subject: string): string | undefined
  /** The tier of those whose tier is unknown; undefined when the rule's own limits are theirs. */
  readonly otherwise: string | undefined
  /** What the id is read with, where it is read from the request and not found in the key. */
  readonly selector: Selector | undefined
}

const nothing: RequestView = Object.freeze({ method: '', path: '', headers: {} })

/** Compiles `tier`. Every name of a tier that stands in the policy or the environment must be known. */
export function compileTier(
  spec: TierSpec,
  key: RuleKey | undefined,
  names: ReadonlySet<string>,
  env: Environment,
  path: string,
  report: Report,
): TierFinder {
  const known = (name: string, at: string): string | undefined => {
    if (names.has(name)) return name
    report(at, name, `no tier of that name; ${didYouMean(name, [...names])}known are ${[...names].join(', ')}`)
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
  const nameOf = (id: string | undefined): string | undefined => {
    if (id === undefined) return otherwise
    if (!mapped && !environment) return names.has(id) ? id : otherwise
    return mapped?.get(id) ?? environment?.of(id) ?? otherwise
  }
  const ofSubject = (subject: string): string | undefined => nameOf(by?.ofSubject(subject))
  return {
    otherwise,
    selector: by?.selector,
    ofSubject,
    ofRequest: (request, captured, subject) =>
      by?.selector ? nameOf(by.selector.read(request, captured)) : ofSubject(subject),
  }
}

interface By {
  /** Reads the id from a request; undefined when only the key has it. */
  readonly selector: Selector | undefined
  ofSubject(subject: string): string | undefined
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
    return { selector: undefined, ofSubject: (subject) => selector.finish(partOf(subject, selector.part, key)) }
  }
  const place = key?.numbered ? -1 : (key?.alternatives[0]?.selectors?.findIndex((part) => part.text === text) ?? -1)
  if (!key) report(path, text, 'a rule without a key cannot read requests; use key[0], the first part of the key')
  return { selector, ofSubject: (subject) => (place < 0 ? undefined : partOf(subject, place, key)) }
}

function partOf(subject: string, place: number, key: RuleKey | undefined): string | undefined {
  const part = decodeKey(subject)[key?.numbered ? place + 1 : place]
  return part === undefined || part === '' ? undefined : String(part)
}
