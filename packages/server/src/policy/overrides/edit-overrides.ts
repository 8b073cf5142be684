import type { ReadKeyPart } from 'sluice'
import { parse } from 'yaml'
import { editYaml } from './edit-yaml.ts'

/** Other limits for exactly one key, with an end. */
export interface TemporaryOverride {
  readonly key: readonly ReadKeyPart[]
  readonly limits: unknown
  /** ISO 8601. */
  readonly until: string
}

type Rule = {
  readonly name?: unknown
  readonly limits?: unknown
  readonly overrides?: readonly { readonly key?: unknown }[]
}

/** The limits of a rule as they are written, and the override that it has for a key. */
export function writtenFor(
  document: unknown,
  rule: string,
  key: readonly ReadKeyPart[],
): { readonly limits: unknown; readonly override: unknown } {
  const rules = (document as { readonly rules?: readonly Rule[] } | null)?.rules
  const found: Rule | undefined = Array.isArray(rules) ? rules.find((each: Rule) => each?.name === rule) : undefined
  const overrides = Array.isArray(found?.overrides) ? found.overrides : []
  return {
    limits: found?.limits ?? null,
    override: overrides.find((each: { key?: unknown }) => isSameKey(each?.key, key)) ?? null,
  }
}

/**
 * A document with an override added, or replaced where the key had one; without it when `override` is undefined. Text
 * stays text, with its comments. Returns undefined where the document has no such rule, or writes it in a way that
 * cannot be edited, such as an alias.
 */
export function editOverrides(
  document: unknown,
  rule: string,
  key: readonly ReadKeyPart[],
  override: TemporaryOverride | undefined,
): unknown {
  if (typeof document !== 'string') return editObject(document, rule, key, override)
  const json = asJson(document)
  if (json !== undefined) return `${JSON.stringify(editObject(json, rule, key, override), null, 2)}\n`
  const wanted = editObject(parse(document), rule, key, override)
  return wanted === undefined ? undefined : editYaml(document, wanted, rule)
}

/** Counters of versions that people number themselves: `14` becomes `14+1`, then `14+2`. */
export function nextVersion(version: unknown): string {
  const [, base, count] = /^(.*)\+(\d+)$/.exec(String(version)) ?? []
  return base === undefined ? `${String(version)}+1` : `${base}+${Number(count) + 1}`
}

function editObject(
  document: unknown,
  rule: string,
  key: readonly ReadKeyPart[],
  override: TemporaryOverride | undefined,
): unknown {
  const given = document as { readonly rules?: readonly Rule[]; readonly version?: unknown } | null
  if (!Array.isArray(given?.rules) || !given.rules.some((each) => each?.name === rule)) return undefined
  const rules = given.rules.map((each: Rule) => {
    if (each.name !== rule) return each
    const { overrides: listed = [], ...rest } = each
    const next = override === undefined ? [] : [written(override)]
    const isThere = listed.some((one) => isSameKey(one.key, key))
    const overrides = listed.flatMap((one) => (isSameKey(one.key, key) ? next : [one])).concat(isThere ? [] : next)
    return overrides.length === 0 ? rest : { ...rest, overrides }
  })
  const version = given.version === undefined ? {} : { version: nextVersion(given.version) }
  return { ...given, ...version, rules }
}

function written({ key, limits, until }: TemporaryOverride): object {
  const parts = key.map((part) => (typeof part === 'string' ? part.replace(/\*$/, '\\*') : part))
  return { key: parts.length === 1 ? parts[0] : parts, limits, until }
}

/**
 * Keys of requests are text, so a number in a document names the text that spells it. A star at the end is a prefix in
 * a document, unless it is escaped.
 */
function isSameKey(written: unknown, key: readonly ReadKeyPart[]): boolean {
  const parts = Array.isArray(written) ? written : [written]
  return parts.length === key.length && parts.every((part, i) => String(part) === String(key[i]).replace(/\*$/, '\\*'))
}

function asJson(text: string): unknown {
  if (!/^\ufeff?\s*\{/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
