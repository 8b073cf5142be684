import { createHash } from 'node:crypto'
import { fieldsOf, pathOf, rlsMethod, textOfValue } from './descriptor.ts'
import { unlimitedLimit, unmatchedLimit } from './no-limit.ts'
import type { EnvoyNode } from './read-config.ts'
import { limitOf } from './units.ts'

type Rule = Record<string, unknown> & { readonly name: string }
/** From the root of a configuration to one descriptor. */
type Trail = readonly EnvoyNode[]
/** A rule with the descriptor it was made from, if it has a limit. */
type Made = { readonly rule: Rule; readonly node: EnvoyNode | undefined }

/**
 * The rules of a domain, special before general: values, then patterns in their order, then any value. Envoy walks down
 * the tree and never turns back: once a descriptor is found, those after it no longer count, even if nothing below the
 * first fits. Where the flat list would fall through to them, a rule without a limit stops it.
 */
export function rulesOf(domain: string, nodes: readonly EnvoyNode[], names: Set<string>): Rule[] {
  const made = walk(domain, nodes, [], names)
  return made.map(({ rule, node }) => {
    // What is unlimited is never replaced: it costs nothing.
    const replaces = made.filter((other) => node?.replaces.includes(nameIn(other.node) ?? ''))
    const quota = node?.quota && node.limit !== 'unlimited'
    if (!quota && replaces.length === 0) return rule
    const replaced = replaces.length === 0 ? {} : { replaces: replaces.map((other) => other.rule.name) }
    return { ...rule, envoy: { ...(quota ? { quota } : {}), ...replaced } }
  })
}

/** The name that other limits replace a descriptor by. */
export function nameIn(node: EnvoyNode | undefined): string | undefined {
  return typeof node?.limit === 'object' ? node.limit.name : undefined
}

function walk(domain: string, nodes: readonly EnvoyNode[], above: Trail, names: Set<string>): Made[] {
  const rank = ({ value }: EnvoyNode): number => (value === undefined ? 2 : value.includes('*') ? 1 : 0)
  const ordered = [...nodes].sort((a, b) => rank(a) - rank(b))
  return ordered.flatMap((node, index) => {
    const trail = [...above, node]
    const own = node.limit === undefined ? [] : [{ rule: ruleOf(domain, trail, node, names), node }]
    const hidden = ordered.slice(index + 1).filter((other) => other.key === node.key && mayMeet(node, other))
    return [...own, ...walk(domain, node.children, trail, names), ...stopsFor(domain, trail, hidden, names)]
  })
}

/** Whether some value may fit both, going by what they begin with. */
function mayMeet(a: EnvoyNode, b: EnvoyNode): boolean {
  const [start, other] = [a, b].map(({ value = '' }) => value.split('*')[0]!) as [string, string]
  return start.startsWith(other) || other.startsWith(start)
}

/** Rules that keep what begins like `trail` from falling through to the limits at and below what it hides. */
function stopsFor(domain: string, trail: Trail, hidden: readonly EnvoyNode[], names: Set<string>): Made[] {
  const stop = (more: Trail): Made => ({
    rule: ruleOf(domain, [...trail, ...more], { ...trail.at(-1)!, limit: undefined, shadow: false }, names),
    node: undefined,
  })
  const isLimited = hidden.some(({ limit }) => limit !== undefined)
  const here = isLimited && trail.at(-1)!.limit === undefined ? [stop([])] : []
  return [...here, ...shapesBelow(hidden).map(stop)]
}

/** The ways to every limit below some descriptors, for any values: the shapes that could be fallen through to. */
function shapesBelow(nodes: readonly EnvoyNode[]): Trail[] {
  const shapes = new Map<string, Trail>()
  const add = (node: EnvoyNode, above: Trail): void => {
    for (const child of node.children) {
      const trail = [...above, { ...child, value: undefined, shared: false }]
      if (child.limit !== undefined) shapes.set(JSON.stringify(trail.map(({ key }) => key)), trail)
      add(child, trail)
    }
  }
  for (const node of nodes) add(node, [])
  return [...shapes.values()]
}

function ruleOf(domain: string, trail: Trail, { limit, shadow }: EnvoyNode, names: Set<string>): Rule {
  const keys = trail.map(({ key }) => key)
  const fields = fieldsOf(keys)
  const values = trail.flatMap(({ value }, i) => {
    const wanted = wantedOf(value)
    return wanted === undefined ? [] : [[fields[i]!, wanted]]
  })
  const limits =
    limit === undefined
      ? { ...unmatchedLimit }
      : limit === 'unlimited'
        ? { ...unlimitedLimit }
        : limitOf(limit.unit, limit.amount, limit.name === undefined ? undefined : label(limit.name))
  const key = fields.flatMap((field, i) =>
    trail[i]!.shared ? [] : [field.startsWith('[') ? `body${field}` : `body.${field}`],
  )
  return {
    name: nameOf(domain, trail, names),
    match: {
      method: rlsMethod,
      path: pathOf(domain, keys),
      ...(values.length === 0 ? {} : { body: Object.fromEntries(values) }),
    },
    // Values that share a counter are no part of the key.
    key: key.length === 0 ? 'const:all' : key,
    limits,
    ...(shadow ? { mode: 'shadow' } : {}),
  }
}

/** The condition on a value; a pattern of nothing but stars has none. */
function wantedOf(value: string | undefined): string | { readonly like: string } | undefined {
  if (value === undefined || /^\*+$/.test(value)) return undefined
  return value.includes('*') ? { like: value } : textOfValue(value)
}

/** A name that people can read, unique in the policy and within what names may be. */
function nameOf(domain: string, trail: Trail, names: Set<string>): string {
  const text = [domain, ...trail.map(({ key, value }) => (value === undefined ? key : `${key}:${value}`))].join('.')
  const base = label(text)
  let name = base
  for (let i = 2; names.has(name); i++) name = `${base.slice(0, 60)}-${i}`
  names.add(name)
  return name
}

function label(text: string): string {
  const plain = text.replace(/[^\w.:-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '') || 'limit'
  return plain.length <= 56
    ? plain
    : `${plain.slice(0, 47)}-${createHash('sha256').update(text).digest('hex').slice(0, 8)}`
}
