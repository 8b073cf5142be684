import { withoutDatabaseFields } from 'sluice/policy'
import type { Difference } from '../shapes/policy.ts'

/** The differences of two policy documents, rule by rule. The order of rules and fields does not count. */
export function diffDocuments(before: unknown, after: unknown): Difference[] {
  const found: Difference[] = []
  compare('', named(withoutDatabaseFields(before)), named(withoutDatabaseFields(after)), found)
  return found
}

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Elements that have names are compared by name, not by position. */
class Named {
  readonly elements: ReadonlyMap<string, unknown>

  constructor(elements: ReadonlyMap<string, unknown>) {
    this.elements = elements
  }
}

function named(value: unknown): unknown {
  if (Array.isArray(value)) {
    const names = value.map(nameOf)
    const areNames = names.every((name) => name !== undefined) && new Set(names).size === names.length
    return areNames && value.length > 0
      ? new Named(new Map(value.map((each, i) => [names[i] ?? '', named(each)])))
      : value
  }
  if (value instanceof Date) return value.toISOString()
  return isFields(value)
    ? Object.fromEntries(Object.entries(value).map(([name, field]) => [name, named(field)]))
    : value
}

function nameOf(element: unknown): string | undefined {
  if (!isFields(element)) return undefined
  if (typeof element.name === 'string') return element.name
  return element.key === undefined ? undefined : [element.key].flat().map(String).join('/')
}

function compare(path: string, before: unknown, after: unknown, found: Difference[]): void {
  if (before instanceof Named && after instanceof Named) {
    each(before.elements, after.elements, (name) => `${path}[${name}]`, found)
  } else if (isFields(before) && isFields(after) && !(before instanceof Named) && !(after instanceof Named)) {
    const [old, now] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
    each(old, now, (name) => (path === '' ? name : `${path}.${name}`), found)
  } else if (text(before) !== text(after)) {
    found.push({ path, kind: 'changed', before: plain(before), after: plain(after) })
  }
}

function each(
  old: ReadonlyMap<string, unknown>,
  now: ReadonlyMap<string, unknown>,
  pathOf: (name: string) => string,
  found: Difference[],
): void {
  for (const name of new Set([...old.keys(), ...now.keys()])) {
    const path = pathOf(name)
    if (!now.has(name)) found.push({ path, kind: 'removed', before: plain(old.get(name)) })
    else if (!old.has(name)) found.push({ path, kind: 'added', after: plain(now.get(name)) })
    else compare(path, old.get(name), now.get(name), found)
  }
}

function plain(value: unknown): unknown {
  if (value instanceof Named) return [...value.elements.values()].map(plain)
  return isFields(value)
    ? Object.fromEntries(Object.entries(value).map(([name, field]) => [name, plain(field)]))
    : value
}

const text = (value: unknown): string => JSON.stringify(plain(value)) ?? ''
