import { createHash } from 'node:crypto'
import { bounded, fieldsOf, pathOf, rlsMethod } from './descriptor.ts'
import { unlimitedLimit, unmatchedLimit } from './no-limit.ts'
import type { EnvoyNode } from './read-config.ts'
import { limitOf } from './units.ts'

type Rule = Record<string, unknown>
/** From the root of a configuration to one descriptor. */
type Trail = readonly EnvoyNode[]

/**
 * The rules of a domain, special before general. Envoy walks down the tree and never turns back: once a descriptor with
 * the very value is found, the one for any value no longer counts, even if nothing below the first fits. Where the flat
 * list would fall through to the general one, a rule without a limit stops it.
 */
export function rulesOf(domain: string, nodes: readonly EnvoyNode[], names: Set<string>): Rule[] {
  return walk(domain, nodes, [], names)
}

function walk(domain: string, nodes: readonly EnvoyNode[], above: Trail, names: Set<string>): Rule[] {
  const special = nodes.filter(({ value }) => value !== undefined)
  const general = nodes.filter(({ value }) => value === undefined)
  return [...special, ...general].flatMap((node) => {
    const trail = [...above, node]
    const own = node.limit === undefined ? [] : [ruleOf(domain, trail, node, names)]
    const fallback = node.value === undefined ? undefined : general.find(({ key }) => key === node.key)
    const stops = fallback === undefined ? [] : stopsFor(domain, trail, fallback, names)
    return [...own, ...walk(domain, node.children, trail, names), ...stops]
  })
}

/** Rules that keep what begins like `trail` from falling through to the limits at and below `fallback`. */
function stopsFor(domain: string, trail: Trail, fallback: EnvoyNode, names: Set<string>): Rule[] {
  const stop = (more: Trail): Rule =>
    ruleOf(domain, [...trail, ...more], { ...trail.at(-1)!, limit: undefined, shadow: false }, names)
  const here = fallback.limit !== undefined && trail.at(-1)!.limit === undefined ? [stop([])] : []
  return [...here, ...below(fallback, []).map(stop)]
}

/** The ways to every limit below a descriptor, for any values: the shapes that could be fallen through to. */
function below(node: EnvoyNode, above: Trail): Trail[] {
  const ways = node.children.flatMap((child) => {
    const trail = [...above, { ...child, value: undefined }]
    return [...(child.limit === undefined ? [] : [trail]), ...below(child, trail)]
  })
  const seen = new Set<string>()
  return ways.filter((way) => {
    const shape = JSON.stringify(way.map(({ key }) => key))
    return !seen.has(shape) && seen.add(shape)
  })
}

function ruleOf(domain: string, trail: Trail, { limit, shadow }: EnvoyNode, names: Set<string>): Rule {
  const keys = trail.map(({ key }) => key)
  const fields = fieldsOf(keys)
  const values = trail.flatMap(({ value }, i) => (value === undefined ? [] : [[fields[i]!, bounded(value)]]))
  const limits =
    limit === undefined
      ? { ...unmatchedLimit }
      : limit === 'unlimited'
        ? { ...unlimitedLimit }
        : limitOf(limit.unit, limit.amount, limit.name === undefined ? undefined : label(limit.name))
  return {
    name: nameOf(domain, trail, names),
    match: {
      method: rlsMethod,
      path: pathOf(domain, keys),
      ...(values.length === 0 ? {} : { body: Object.fromEntries(values) }),
    },
    key: fields.map((field) => (field.startsWith('[') ? `body${field}` : `body.${field}`)),
    limits,
    ...(shadow ? { mode: 'shadow' } : {}),
  }
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
