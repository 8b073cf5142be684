import { show } from '../../core/errors.ts'
import type { KeyPart } from '../../core/key.ts'
import type { ConditionSpec, OperatorsSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import { textOf } from '../selector/text-of.ts'
import { endlessEntries, findList, type List, type Lists, type Members, networkMembers, textMembers } from './lists.ts'

/**
 * Whether a text fits a pattern in which each `*` stands for any characters, also none. It looks at each part once,
 * from left to right, so that no text makes it slow.
 */
function compileLike(pattern: string): (text: string) => boolean {
  const [first, ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return (text) => text === pattern
  return (text) => {
    const end = text.length - last.length
    let at = first!.length
    if (at > end || !text.startsWith(first!) || !text.endsWith(last)) return false
    for (const part of rest) {
      const found = text.indexOf(part, at)
      if (found < 0 || found + part.length > end) return false
      at = found + part.length
    }
    return true
  }
}

/** A test of one field. */
export interface FieldTest {
  /**
   * `text` is undefined for a field that has none, and `isThere` says whether it has a value at all. Undefined when it
   * cannot be told; then the condition holds, and so does its opposite.
   */
  of(text: string | undefined, isThere: boolean, nowMs: number): boolean | undefined
  /** What is wanted, in words that follow the name of the field. */
  readonly wanted: string
  readonly dated: boolean
  /** The values that the field may have, where the test is nothing else. */
  readonly values?: ReadonlySet<string>
}

export interface TestContext {
  readonly lists: Lists
  /** Whether values are addresses and networks. */
  readonly isAddress: boolean
  readonly report: Report
}

/** Compiles what a field must be. */
export function compileTest(spec: ConditionSpec, path: string, context: TestContext): FieldTest | undefined {
  if (typeof spec !== 'object' || Array.isArray(spec)) return oneOf(spec as Values, false, path, context)
  const { not, ...operators } = spec as OperatorsSpec & { readonly not?: ConditionSpec }
  const tests = compileOperators(operators, path, context)
  const inverse = not === undefined ? undefined : compileTest(not, `${path}.not`, context)
  if (inverse) tests.push(notOf(inverse))
  if (tests.length === 0 && not === undefined) context.report(path, spec, 'say what the field must be')
  return tests.length < 2 ? tests[0] : allOf(tests)
}

type Values = KeyPart | readonly KeyPart[]

const comparisons = {
  above: (value: number, bound: number) => value > bound,
  atLeast: (value: number, bound: number) => value >= bound,
  below: (value: number, bound: number) => value < bound,
  atMost: (value: number, bound: number) => value <= bound,
} as const
const comparisonWords = { above: 'above', atLeast: 'at least', below: 'below', atMost: 'at most' } as const

function compileOperators(spec: OperatorsSpec, path: string, context: TestContext): FieldTest[] {
  const { is, prefix, like, exists, in: names, ignoreCase = false } = spec
  const tests: (FieldTest | undefined)[] = []
  if (exists !== undefined)
    tests.push({
      of: (_, isThere) => isThere === exists,
      wanted: exists ? 'to be there' : 'to be absent',
      dated: false,
    })
  if (is !== undefined) tests.push(oneOf(is, ignoreCase, `${path}.is`, context))
  if (prefix !== undefined) tests.push(beginsWith(prefix, ignoreCase, `${path}.prefix`, context))
  if (like !== undefined) tests.push(isLike(like, ignoreCase, `${path}.like`, context))
  if (names !== undefined) tests.push(inLists(names, ignoreCase, `${path}.in`, context))
  for (const name of Object.keys(comparisons) as (keyof typeof comparisons)[]) {
    const bound = spec[name]
    if (bound !== undefined) tests.push(compared(name, bound))
  }
  if (ignoreCase && [is, prefix, like, names].every((each) => each === undefined))
    context.report(`${path}.ignoreCase`, ignoreCase, 'it goes with is, prefix, like or in')
  return tests.filter((test) => test !== undefined)
}

function textsOf(values: Values, path: string, { report }: TestContext): readonly string[] | undefined {
  const texts = (Array.isArray(values) ? (values as readonly KeyPart[]) : [values as KeyPart]).map(textOf)
  if (!texts.includes(undefined)) return texts as string[]
  report(path, values, 'use texts, numbers or booleans that are not empty')
  return undefined
}

function oneOf(values: Values, ignoreCase: boolean, path: string, context: TestContext): FieldTest | undefined {
  const texts = textsOf(values, path, context)
  if (!texts) return undefined
  const wanted = `to be ${texts.slice(0, 5).map(show).join(' or ')}${texts.length > 5 ? ' or others' : ''}`
  if (context.isAddress)
    return memberTest(networkMembers(endlessEntries(texts, path), context.report), true, false, wanted)
  const set = new Set(ignoreCase ? texts.map((text) => text.toLowerCase()) : texts)
  if (ignoreCase) return { of: (text) => text !== undefined && set.has(text.toLowerCase()), wanted, dated: false }
  return { of: (text) => text !== undefined && set.has(text), wanted, dated: false, values: set }
}

function beginsWith(
  prefix: string | readonly string[],
  ignoreCase: boolean,
  path: string,
  context: TestContext,
): FieldTest | undefined {
  const starts = textsOf(prefix, path, context)
  if (context.isAddress) context.report(path, prefix, 'addresses are compared by network, such as 10.0.0.0/8')
  if (!starts) return undefined
  const wanted = `to begin with ${starts.map(show).join(' or ')}`
  return memberTest(
    textMembers(
      endlessEntries(
        starts.map((text) => `${text}*`),
        path,
      ),
      ignoreCase,
    ),
    false,
    false,
    wanted,
  )
}

function isLike(
  given: string | readonly string[],
  ignoreCase: boolean,
  path: string,
  { isAddress, report }: TestContext,
): FieldTest {
  const patterns = typeof given === 'string' ? [given] : given
  if (isAddress) report(path, given, 'addresses are compared by network, such as 10.0.0.0/8')
  else if (!patterns.every((pattern) => pattern.includes('*')))
    report(path, given, 'write a * where any characters may be, or use is')
  const folded = ignoreCase ? (text: string): string => text.toLowerCase() : (text: string): string => text
  const fits = patterns.map((pattern) => compileLike(folded(pattern)))
  return {
    of: (text) => text !== undefined && fits.some((fit) => fit(folded(text))),
    wanted: `to be like ${patterns.map(show).join(' or ')}`,
    dated: false,
  }
}

function inLists(
  names: string | readonly string[],
  ignoreCase: boolean,
  path: string,
  context: TestContext,
): FieldTest | undefined {
  const given = typeof names === 'string' ? [names] : names
  const found = given.map((name, i) =>
    findList(context.lists, name, typeof names === 'string' ? path : `${path}[${i}]`, context.report),
  )
  if (found.includes(undefined)) return undefined
  const lists = found as List[]
  const entries = lists.flatMap((list) => list.entries)
  const members = context.isAddress ? networkMembers(entries, context.report) : textMembers(entries, ignoreCase)
  const isDated = lists.some(({ dated }) => dated)
  return memberTest(members, context.isAddress, isDated, `to be in ${given.join(' or ')}`)
}

/** An address that is not there, or none at all, may be any. */
function memberTest(members: Members, isAddress: boolean, dated: boolean, wanted: string): FieldTest {
  return {
    of: (text, _, nowMs) => (text === undefined ? (isAddress ? undefined : false) : members.has(text, nowMs)),
    wanted,
    dated,
  }
}

const decimal = /^[+-]?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:e[+-]?\d{1,4})?$/i

/** What is there and no plain number may be read as one by a handler, so that it cannot be told. */
function compared(name: keyof typeof comparisons, bound: number): FieldTest {
  const holds = comparisons[name]
  return {
    of: (text, isThere) => {
      if (text === undefined) return isThere ? undefined : false
      return decimal.test(text) ? holds(Number(text), bound) : undefined
    },
    wanted: `to be ${comparisonWords[name]} ${bound}`,
    dated: false,
  }
}

function notOf(test: FieldTest): FieldTest {
  return {
    of: (text, isThere, nowMs) => {
      const holds = test.of(text, isThere, nowMs)
      return holds === undefined ? undefined : !holds
    },
    wanted: `not ${test.wanted}`,
    dated: test.dated,
  }
}

function allOf(tests: readonly FieldTest[]): FieldTest {
  return {
    of: (text, isThere, nowMs) => {
      let all: boolean | undefined = true
      for (const test of tests) {
        const holds = test.of(text, isThere, nowMs)
        if (holds === false) return false
        if (holds === undefined) all = undefined
      }
      return all
    },
    wanted: tests.map(({ wanted }) => wanted).join(' and '),
    dated: tests.some(({ dated }) => dated),
  }
}
