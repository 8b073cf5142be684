import type { CompiledPolicy, ReadField } from 'sluice/policy'
import type { Trial } from '../../shapes/policy.ts'
import type { Replayed } from './replay.ts'
import type { KeptRequest } from './request-ring.ts'

const maxSubjects = 50

/** Puts what two policies make of the same requests side by side. */
export function compareReplays(
  requests: readonly KeptRequest[],
  running: readonly Replayed[],
  tried: readonly Replayed[],
  policy: Pick<CompiledPolicy, 'rules'>,
): Omit<Trial, 'version' | 'inForce' | 'notes'> {
  const rules = new Map<string, { denied: Counts; shadow: Counts }>()
  const subjects = new Map<string, { requests: number; denied: Counts }>()
  const ruleAt = (name: string): { denied: Counts; shadow: Counts } =>
    entry(rules, name, () => ({ denied: none(), shadow: none() }))
  for (const { name } of policy.rules) ruleAt(name)
  for (const i of requests.keys()) {
    const keys = new Set<string>()
    for (const [side, outcome] of [
      ['running', running[i]!],
      ['tried', tried[i]!],
    ] as const) {
      for (const name of outcome.shadow) ruleAt(name).shadow[side]++
      for (const key of outcome.subjects) keys.add(key)
      if (outcome.rule === undefined) continue
      ruleAt(outcome.rule).denied[side]++
      const key = outcome.subjects.find((each) => each.split('/')[1] === outcome.rule) ?? outcome.subjects[0]
      if (key !== undefined) entry(subjects, key, () => ({ requests: 0, denied: none() })).denied[side]++
    }
    for (const key of keys) entry(subjects, key, () => ({ requests: 0, denied: none() })).requests++
  }
  const deniedSubjects = [...subjects]
    .filter(([, { denied }]) => denied.running + denied.tried > 0)
    .map(([key, each]) => ({ key, ...each }))
    .sort((a, b) => Math.abs(difference(b)) - Math.abs(difference(a)) || b.denied.tried - a.denied.tried)
  const count = (holds: (i: number) => boolean): number => [...requests.keys()].filter(holds).length
  return {
    requests: requests.length,
    fromMs: requests[0]?.atMs ?? null,
    toMs: requests.at(-1)?.atMs ?? null,
    deniedThen: requests.filter(({ allowed }) => !allowed).length,
    denied: { running: count((i) => !running[i]!.allowed), tried: count((i) => !tried[i]!.allowed) },
    newlyDenied: count((i) => running[i]!.allowed && !tried[i]!.allowed),
    newlyAllowed: count((i) => !running[i]!.allowed && tried[i]!.allowed),
    rules: [...rules].map(([rule, each]) => ({ rule, ...each })),
    subjects: deniedSubjects.slice(0, maxSubjects),
    subjectsDenied: deniedSubjects.length,
    unknown: unknownFields(requests, policy),
  }
}

type Counts = { running: number; tried: number }

const none = (): Counts => ({ running: 0, tried: 0 })
const difference = ({ denied }: { readonly denied: Counts }): number => denied.tried - denied.running

function entry<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const found = map.get(key)
  if (found !== undefined) return found
  const made = make()
  map.set(key, made)
  return made
}

/** Only these are chosen field by field; a path, a method and an address are always kept. */
const chosenRoots: ReadonlySet<string> = new Set(['headers', 'query', 'body', 'context'])

function unknownFields(requests: readonly KeptRequest[], { rules }: Pick<CompiledPolicy, 'rules'>): Trial['unknown'] {
  const byFields = new Map<readonly ReadField[], number>()
  for (const { fields, asked } of requests)
    if ('request' in asked) byFields.set(fields, (byFields.get(fields) ?? 0) + 1)
  const found = new Map<string, { rule: string; field: string; requests: number }>()
  for (const [fields, count] of byFields) {
    const kept = new Set(fields.map(textOf))
    for (const { name, reads } of rules) {
      const lacking = new Set(
        reads
          .filter(({ root }) => chosenRoots.has(root))
          .map(textOf)
          .filter((each) => !kept.has(each)),
      )
      for (const field of lacking)
        entry(found, `${name} ${field}`, () => ({ rule: name, field, requests: 0 })).requests += count
    }
  }
  return [...found.values()].slice(0, maxSubjects)
}

const textOf = ({ root, path }: ReadField): string => [root, ...path].join('.')
