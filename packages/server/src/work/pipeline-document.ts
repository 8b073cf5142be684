import { checkFields, isMaxRejected, parseDuration, readExecution } from 'sluice/internal'
import { type Execution, PipelineError } from 'sluice/pipeline'
import { parse } from 'yaml'

/** One of the kinds of a source, a step or a sink, with its options: `{ postgres: products, conflict: sku }`. */
export type Kind = Readonly<Record<string, unknown>>

/** A pipeline as a document says it. */
export interface PipelineDocument {
  readonly name: string
  readonly source: Kind
  readonly steps?: readonly Kind[]
  readonly sink: Kind
  readonly execution?: Execution
  readonly rate?: { readonly rule: string; readonly key?: string; readonly cost?: string }
  readonly positions?: 'redis' | Kind
  readonly deadLetters?: Kind
  readonly maxRejected?: number | `${number}%`
  readonly run?: string
  readonly lease?: string
}

type Report = (path: string, value: unknown, message: string) => void
/** Says what would be right about a value; undefined when it is right. */
type Check = (value: unknown) => string | undefined

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const isNames = (value: unknown): boolean => Array.isArray(value) && value.length > 0 && value.every(isText)
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const text: Check = (value) => (isText(value) ? undefined : 'write a text')
const names: Check = (value) => (isText(value) || isNames(value) ? undefined : 'write a name, or a list of names')
const flag: Check = (value) => (typeof value === 'boolean' ? undefined : 'write true or false')
const whole: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) > 0 ? undefined : 'write a whole number from 1'
const oneOf =
  (...words: string[]): Check =>
  (value) =>
    words.includes(value as string) ? undefined : `use ${words.join(' or ')}`
const secret: Check = (value) =>
  isText(value) && /^(env|file):./.test(value)
    ? undefined
    : 'it has a password: write env:NAME or file:PATH, so that it is not in the document'
const time: Check = (value) => {
  try {
    parseDuration(value as string, 'time')
    return undefined
  } catch {
    return 'write a number with a unit, such as 30s'
  }
}
const update: Check = (value) =>
  value === 'all' || value === 'none' || isNames(value) ? undefined : 'use all, none, or a list of columns'
const positionsTable: Check = (value) => (value === false || isText(value) ? undefined : 'name a table, or write false')
const pair: Check = (value) =>
  isObject(value) && isText(value.from) && isText(value.to) && Object.keys(value).length === 2
    ? undefined
    : 'write { from: FIELD, to: FIELD }'
const renames: Check = (value) =>
  isObject(value) && Object.values(value).every(isText) ? undefined : 'write { OLD: NEW }'

type Kinds = Readonly<
  Record<
    string,
    { readonly of: Check; readonly options?: Readonly<Record<string, Check>>; readonly needs?: readonly string[] }
  >
>

const sources: Kinds = {
  file: { of: text, options: { format: oneOf('ndjson', 'csv'), gzip: flag } },
  postgres: { of: text, options: { url: secret, key: names, columns: names }, needs: ['key'] },
  'redis-stream': { of: names, options: { group: text, consumer: text, claimAfter: time, maxDeliveries: whole } },
  kafka: {
    of: names,
    options: {
      ...{ brokers: names, group: text, fromBeginning: flag, sessionTimeout: time },
      ...{ tls: flag, mechanism: oneOf('plain', 'scram-sha-256', 'scram-sha-512'), username: text, password: secret },
    },
    needs: ['group'],
  },
  kinesis: { of: text, options: { region: text } },
  use: { of: text },
}
const sinks: Kinds = {
  postgres: { of: text, options: { url: secret, conflict: names, update, columns: names, positions: positionsTable } },
  'redis-stream': { of: text, options: { maxLength: whole } },
  file: { of: text },
  use: { of: text },
}
const steps: Kinds = {
  mask: { of: names },
  hash: { of: pair },
  pick: { of: names },
  rename: { of: renames },
  lookup: { of: text, options: { key: text, to: text, ttl: time }, needs: ['key', 'to'] },
  use: { of: text, options: { threads: whole } },
}
const positions: Kinds = { postgres: { of: text, options: { url: secret } } }

const fields = [
  ...['name', 'source', 'steps', 'sink', 'execution', 'executionConfig', 'rate', 'positions', 'deadLetters'],
  ...['maxRejected', 'run', 'lease'],
]

/** Reads a pipeline document, YAML or JSON. Throws with every mistake: its path, its value and what would be right. */
export function readPipeline(written: string): PipelineDocument {
  const issues: { path: string; value: unknown; message: string }[] = []
  const report: Report = (path, value, message) => issues.push({ path, value, message })
  const document = parsed(written, report)
  if (isObject(document)) check(document, report)
  else if (issues.length === 0) report('', document, 'write an object with name, source and sink')
  if (issues.length > 0) throw new PipelineError(issues)
  const { executionConfig, execution = executionConfig, ...rest } = document as Record<string, unknown>
  return { ...rest, ...(execution === undefined ? {} : { execution }) } as unknown as PipelineDocument
}

function parsed(written: string, report: Report): unknown {
  try {
    return parse(written, { maxAliasCount: 100 })
  } catch (error) {
    report('', written, (error as Error).message.split('\n')[0] ?? 'it cannot be parsed')
    return undefined
  }
}

function check(document: Record<string, unknown>, report: Report): void {
  checkFields(document, fields, '', report)
  const given = (name: string, right: Check): void => {
    const message = document[name] === undefined ? undefined : right(document[name])
    if (message !== undefined) report(name, document[name], message)
  }
  if (!isText(document.name)) report('name', document.name, 'give the pipeline a name')
  checkKind(document.source, sources, 'source', report)
  checkKind(document.sink, sinks, 'sink', report)
  if (document.deadLetters !== undefined) checkKind(document.deadLetters, sinks, 'deadLetters', report)
  if (document.positions !== undefined && document.positions !== 'redis')
    checkKind(document.positions, positions, 'positions', report)
  if (Array.isArray(document.steps)) {
    for (const [i, step] of document.steps.entries()) checkKind(step, steps, `steps[${i}]`, report)
  } else given('steps', () => 'write a list')
  if (document.execution !== undefined && document.executionConfig !== undefined)
    report('executionConfig', document.executionConfig, 'it is another name for execution; write one of them')
  const path = document.execution === undefined ? 'executionConfig' : 'execution'
  if (document[path] !== undefined) readExecution(document[path], path, report)
  checkRate(document.rate, report)
  given('maxRejected', (value) => (isMaxRejected(value) ? undefined : 'use a whole number, or a share such as 1%'))
  given('run', text)
  given('lease', time)
}

function checkRate(rate: unknown, report: Report): void {
  if (rate === undefined) return
  if (!isObject(rate)) {
    report('rate', rate, 'write { rule: NAME }')
    return
  }
  checkFields(rate, ['rule', 'key', 'cost'], 'rate', report)
  if (!isText(rate.rule)) report('rate.rule', rate.rule, 'name a rule of the policy')
  for (const name of ['key', 'cost'])
    if (rate[name] !== undefined && !isText(rate[name]))
      report(`rate.${name}`, rate[name], 'name a field of the records')
}

/** `{ kind: value, option: ... }`: exactly one kind, and only its options. */
function checkKind(given: unknown, kinds: Kinds, path: string, report: Report): void {
  const known = Object.keys(kinds)
  const kind = isObject(given) ? known.find((name) => given[name] !== undefined) : undefined
  if (!isObject(given) || kind === undefined) {
    report(path, given, `write one of ${known.map((name) => `{ ${name}: ... }`).join(', ')}`)
    return
  }
  const { of, options = {}, needs = [] } = kinds[kind]!
  checkFields(given, [kind, ...Object.keys(options)], path, report)
  for (const [name, right] of Object.entries({ [kind]: of, ...options })) {
    if (given[name] === undefined && !needs.includes(name)) continue
    const message = right(given[name])
    if (message !== undefined) report(`${path}.${name}`, given[name], message)
  }
}
