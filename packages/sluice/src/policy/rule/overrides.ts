import type { LimitSet } from '../../core/engine/limit-set.ts'
import { decodeKey, encodeKey, type KeyPart } from '../../core/key.ts'
import type { OverrideSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import { isWithin, readTerm, type Term } from '../document/term.ts'
import type { Steps } from '../steps.ts'
import { partsOfSubject } from './key.ts'
import type { RuleKey } from './rule-key.ts'

/** Other limits for some subjects. */
export interface Override extends Term {
  readonly limits: LimitSet
}

/**
 * Overrides that say the same of each part of the key: a length for a prefix, or that the part is given in full. One
 * lookup for each such form finds an override, however many there are.
 */
interface PrefixForm {
  readonly lengths: readonly (number | undefined)[]
  readonly byParts: Map<string, Override>
}

/** Other limits by subject: for exactly one first, then for those that begin alike, the longest prefix first. */
export class Overrides {
  readonly exact: Map<string, Override> = new Map()
  readonly #forms: PrefixForm[] = []

  get isEmpty(): boolean {
    return this.exact.size === 0 && this.#forms.length === 0
  }

  /** The override in force for a subject. */
  find(subject: string, nowMs: number): Override | undefined {
    const exact = this.exact.get(subject)
    if (exact && isWithin(exact, nowMs)) return exact
    if (this.#forms.length === 0) return undefined
    const parts = decodeKey(subject)
    for (const { lengths, byParts } of this.#forms) {
      const found = lengths.length === parts.length ? byParts.get(startOf(parts, lengths)) : undefined
      if (found && isWithin(found, nowMs)) return found
    }
    return undefined
  }

  /** Whether an override for the subject is in force, has ended, or is yet to begin. */
  stateOf(subject: string, nowMs: number): 'in-force' | 'expired' | 'pending' | undefined {
    if (this.find(subject, nowMs)) return 'in-force'
    const exact = this.exact.get(subject)
    return exact && (nowMs < exact.fromMs ? 'pending' : 'expired')
  }

  /** Adds an override; false when there is one for the same subjects. */
  add(parts: readonly KeyPart[], lengths: readonly (number | undefined)[], override: Override): boolean {
    if (lengths.every((length) => length === undefined)) return addTo(this.exact, encodeKey(parts), override)
    let form = this.#forms.find((known) => String(known.lengths) === String(lengths))
    if (!form) {
      form = { lengths, byParts: new Map() }
      this.#forms.push(form)
      this.#forms.sort((a, b) => bySpecificity(a.lengths, b.lengths))
    }
    return addTo(form.byParts, startOf(parts, lengths), override)
  }

  /** Every override with its key as people write it. */
  *all(): Iterable<readonly [key: string, override: Override]> {
    for (const [subject, override] of this.exact) yield [decodeKey(subject).join('/'), override]
    for (const { lengths, byParts } of this.#forms) {
      for (const [start, override] of byParts) {
        const parts = JSON.parse(start) as KeyPart[]
        yield [parts.map((part, i) => (lengths[i] === undefined ? part : `${part}*`)).join('/'), override]
      }
    }
  }
}

function addTo(map: Map<string, Override>, key: string, override: Override): boolean {
  if (map.has(key)) return false
  map.set(key, override)
  return true
}

function startOf(parts: readonly KeyPart[], lengths: readonly (number | undefined)[]): string {
  return JSON.stringify(parts.map((part, i) => (lengths[i] === undefined ? part : String(part).slice(0, lengths[i]))))
}

/** Part by part, what is given in full comes before a prefix, and a longer prefix before a shorter one. */
function bySpecificity(a: readonly (number | undefined)[], b: readonly (number | undefined)[]): number {
  for (let i = 0; i < a.length; i++) {
    const [left = Infinity, right = Infinity] = [a[i], b[i]]
    if (left !== right) return right - left
  }
  return 0
}

/** Compiles `overrides`. */
export function* compileOverrides(
  specs: readonly OverrideSpec[],
  key: RuleKey | undefined,
  readLimits: (spec: OverrideSpec['limits'], path: string) => LimitSet | undefined,
  path: string,
  report: Report,
): Steps<Overrides> {
  const overrides = new Overrides()
  const endless = new Map<LimitSet, Override>()
  for (let i = 0; i < specs.length; i++) {
    const spec = specs[i]!
    const pattern = readPattern(spec.key, key)
    if (typeof pattern === 'string') report(`${path}[${i}].key`, spec.key, pattern)
    const term = readTerm(spec, `${path}[${i}]`, report)
    const limits = readLimits(spec.limits, `${path}[${i}].limits`)
    if (typeof pattern === 'string' || !limits) continue
    const isEndless = term.untilMs === Infinity && term.fromMs === -Infinity
    let override = isEndless ? endless.get(limits) : undefined
    if (!override) {
      override = { limits, ...term }
      if (isEndless) endless.set(limits, override)
    }
    if (!overrides.add(pattern.parts, pattern.lengths, override))
      report(`${path}[${i}].key`, spec.key, 'this key has an override already; keep one of them')
    if (i % 64 === 0) yield
  }
  return overrides
}

interface Pattern {
  readonly parts: readonly KeyPart[]
  readonly lengths: readonly (number | undefined)[]
}

/** Reads the key of an override, or says what is wrong with it. A part that ends with `*` is a prefix. */
function readPattern(spec: OverrideSpec['key'], key: RuleKey | undefined): Pattern | string {
  const given = Array.isArray(spec) ? (spec as readonly KeyPart[]) : [spec as KeyPart]
  if (given.some((part) => Number.isInteger(part) && !Number.isSafeInteger(part)))
    return 'a number this large is not exact; write it as text, in quotes'
  const isPrefix = given.map((part) => typeof part === 'string' && /(?:^|[^\\])\*$/.test(part))
  if (!key?.numbered && given.every((part) => part === '*'))
    return 'this is every key: write it as the limits of the rule'
  // A lone star keeps its place as a text that is not empty.
  const texts = given.map((part, i) => (typeof part === 'string' && part !== '*' ? textOf(part, isPrefix[i]!) : part))
  const parts = partsOfSubject(key, texts)
  if (parts === undefined) return wantedKey(key)
  const hidden = given.findIndex((_, i) => isPrefix[i] && isHidden(key, given, i))
  if (hidden >= 0) return 'what is hashed, or made a network, has no prefix; write the whole value'
  const whole = parts.map((part, i) => (given[i] === '*' ? '' : part))
  return { parts: whole, lengths: whole.map((part, i) => (isPrefix[i] ? String(part).length : undefined)) }
}

/** The text that a part stands for: `\*` at its end is a star. */
function textOf(part: string, isPrefix: boolean): string {
  return isPrefix ? part.slice(0, -1) : part.replace(/\\\*$/, '*')
}

function isHidden(key: RuleKey | undefined, given: readonly KeyPart[], i: number): boolean {
  const selectors = key?.alternatives[key.numbered ? Number(given[0]) : 0]?.selectors
  return /\|\s*(?:hash|subnet)/.test(selectors?.[key?.numbered ? i - 1 : i]?.text ?? '')
}

function wantedKey(key: RuleKey | undefined): string {
  if (!key) return 'use texts, finite numbers or booleans'
  if (key.numbered)
    return `begin with the place of the alternative (0 to ${key.alternatives.length - 1}), then give its parts`
  const names = key.alternatives[0]!.selectors?.map(({ text }) => text)
  return names ? `give a value for each part of the key: ${names.join(', ')}` : 'use texts that are not empty'
}
