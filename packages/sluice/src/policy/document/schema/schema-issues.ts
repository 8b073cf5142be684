import type * as z from 'zod'
import { didYouMean } from '../../../core/did-you-mean.ts'
import { mostIssues, type Report } from '../policy-error.ts'

type Issue = z.core.$ZodIssue
type Path = readonly PropertyKey[]

/** Runs a schema and reports mistakes, as many as are listed, with its path, its value and what would be right. */
export function checkShape<T>(schema: z.ZodType<T>, document: unknown, path: string, report: Report): T | undefined {
  const result = schema.safeParse(document)
  if (result.success) return result.data
  for (const issue of result.error.issues.slice(0, mostIssues)) tell(issue, [], document, path, report)
  return undefined
}

function tell(issue: Issue, above: Path, document: unknown, root: string, report: Report): void {
  const path = [...above, ...issue.path]
  if (issue.code === 'invalid_union') {
    const branch = likeliest(issue.errors)
    if (branch) {
      for (const inner of branch) tell(inner, path, document, root, report)
      return
    }
  }
  if (issue.code === 'unrecognized_keys') {
    const known = issue.message.split(' ')
    for (const key of issue.keys.slice(0, mostIssues)) {
      report(pathText(root, [...path, key]), valueAt(document, [...path, key]), unknownKey(key, known))
    }
    return
  }
  report(pathText(root, path), valueAt(document, path), remedyOf(issue))
}

// Of the forms a value may have, the one it was meant to have is the one whose mistakes lie within it.
function likeliest(branches: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  const inside = branches.filter((issues) => issues.every((issue) => !isWrongType(issue)))
  return inside.length > 0 ? inside.reduce((a, b) => (b.length < a.length ? b : a)) : undefined
}

function isWrongType(issue: Issue): boolean {
  if (issue.path.length > 0) return false
  if (issue.code === 'invalid_union') return likeliest(issue.errors) === undefined
  return issue.code === 'invalid_type' || issue.code === 'invalid_value' || issue.code === 'custom'
}

function unknownKey(key: string, known: readonly string[]): string {
  if (key === '<<') return 'merge keys are not read; write the fields out, or use an alias for the whole value'
  if (key === 'concurrency' && known.includes('rpm')) {
    return 'a limit of its own, in a list: limits: [{ rpm: 100 }, { algorithm: concurrency, amount: 3 }]'
  }
  return `unknown here; ${didYouMean(key, known)}known are ${known.join(', ')}`
}

function remedyOf(issue: Issue): string {
  if (isOwn(issue)) return issue.message
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected === 'int' ? 'use a whole number' : `use ${aType(issue.expected)}`
    case 'too_small':
      if (issue.origin === 'string') return 'it must not be empty'
      if (issue.origin === 'array') return 'list at least one'
      return `use a whole number of at least ${issue.minimum}`
    case 'too_big':
      if (issue.origin === 'string') return `use at most ${issue.maximum} characters`
      return issue.origin === 'array'
        ? `list at most ${issue.maximum}`
        : `use a whole number of at most ${issue.maximum}`
    case 'invalid_value':
      return `use ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`
    case 'invalid_union':
      return `use ${[...new Set(issue.errors.flatMap((branch) => branch.map(choiceOf)))].join(', or ')}`
    case 'invalid_key':
      return issue.issues.map(remedyOf).join('; ')
    case 'custom':
      return 'use a function'
    default:
      return issue.message
  }
}

/** Whether the schema says itself what would be right. */
function isOwn({ code, message }: Issue): boolean {
  if (code !== 'invalid_type' && code !== 'too_small' && code !== 'too_big' && code !== 'invalid_value') return false
  return !/^(Invalid (input|option|key)|Too (small|big))/.test(message)
}

function choiceOf(issue: Issue): string {
  return remedyOf(issue).replace(/^use /, '')
}

function aType(expected: string): string {
  if (expected === 'object' || expected === 'record') return 'an object'
  return expected === 'array' ? 'a list' : expected === 'string' ? 'text' : `a ${expected}`
}

/** A path as people write it: `rules[0].limits.rpm`. */
function pathText(root: string, path: Path): string {
  let text = root
  for (const step of path) text += typeof step === 'number' ? `[${step}]` : `${text === '' ? '' : '.'}${String(step)}`
  return text
}

function valueAt(document: unknown, path: Path): unknown {
  let value = document
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<PropertyKey, unknown>)[step]
  }
  return value
}
