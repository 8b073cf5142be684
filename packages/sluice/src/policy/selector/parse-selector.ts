import { formatBlock, parseAddress } from '../../core/address.ts'
import { didYouMean } from '../../core/did-you-mean.ts'
import { sha256 } from '../../core/sha256.ts'

const pathStep = /\.?([^\s.[\]"'|?]+)|\[(\d{1,9})\]|\[(?:"([^"]+)"|'([^']+)')\]/y

const deepestPath = 16

/**
 * Reads the path of a field: names after dots, `[0]` for items, `["any text"]` for names with dots or spaces in them.
 * Returns undefined for what is no path.
 */
function parseFieldPath(text: string): readonly string[] | undefined {
  const path: string[] = []
  pathStep.lastIndex = 0
  while (pathStep.lastIndex < text.length) {
    const at = pathStep.lastIndex
    const found = pathStep.exec(text)
    // A name needs a dot before it, except at the start.
    if (!found || (found[1] !== undefined && text.startsWith('.', at) === (at === 0))) return undefined
    path.push((found[1] ?? found[2] ?? found[3] ?? found[4])!)
  }
  return path.length > 0 && path.length <= deepestPath ? path : undefined
}

/** Changes the text a selector read; undefined makes it missing. */
type Transform = (text: string) => string | undefined

/** The names of the transforms, as they are written after `|`. */
const transformNames: readonly string[] = ['lower', 'hash', 'subnet']

/** Finds a transform by how it is written: `lower`, `hash`, `subnet`, `subnet(24, 56)`. */
export function transformOf(text: string): Transform | undefined {
  if (text === 'lower') return (value) => value.toLowerCase()
  // Keeps secrets such as API keys out of the store, the metrics and the logs.
  if (text === 'hash') return sha256
  const subnet = /^subnet(?:\(\s*(\d{1,2})\s*,\s*(\d{1,3})\s*\))?$/.exec(text)
  if (!subnet) return undefined
  const bits4 = Number(subnet[1] ?? 24)
  const bits6 = Number(subnet[2] ?? 64)
  return bits4 <= 32 && bits6 <= 128 ? (value) => subnetOf(value, bits4, bits6) : undefined
}

/** The network an address, or a block of addresses, is in. What is neither is missing. */
function subnetOf(text: string, bits4: number, bits6: number): string | undefined {
  const address = parseAddress(text.replace(/\/\d{1,3}$/, ''))
  return address && formatBlock(address, bits4, bits6)
}

/** Where in a request a selector reads. */
export type SelectorRoot =
  | 'headers'
  | 'cookies'
  | 'host'
  | 'query'
  | 'params'
  | 'body'
  | 'context'
  | 'ip'
  | 'method'
  | 'route'
  | 'path'
  | 'const'
  | 'key'

/** One step after the source: a value for a missing one, or a change to one that is there. */
type SelectorStep = { readonly missing: string } | { readonly transform: Transform }

/** A selector taken apart. */
export interface ParsedSelector {
  readonly root: SelectorRoot
  /** The field, where the root has fields. */
  readonly path: readonly string[]
  /** The text of a `const:`. */
  readonly constant: string | undefined
  readonly steps: readonly SelectorStep[]
}

const bareRoots = ['ip', 'host', 'method', 'route', 'path'] as const
const fieldRoots = ['query', 'params', 'body', 'context'] as const
const rootWords = ['headers.', 'cookies.', 'query.', 'params.', 'body.', 'context.', ...bareRoots, 'const:']
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const looksSelected =
  /^(?:(?:headers|cookies|query|params|body|context|key)[.[]|const:|(?:ip|host|method|route|path|key)$)/

/**
 * Takes a selector apart: a source, then any number of `?? default` and `| transform`, which apply from left to right.
 * Returns what is wrong with it as text.
 *
 * @example parseSelector('body.model_version ?? v1 | lower')
 */
export function parseSelector(text: string): ParsedSelector | string {
  const pieces = split(text)
  if (!pieces) return 'a quotation mark is not closed'
  const source = parseSource(pieces[0]!.text)
  if (typeof source === 'string') return source
  const steps: SelectorStep[] = []
  for (const { operator, text } of pieces.slice(1)) {
    const step = operator === '|' ? parseTransform(text) : parseDefault(text)
    if (typeof step === 'string') return step
    steps.push(step)
  }
  return { ...source, steps }
}

function parseSource(text: string): Omit<ParsedSelector, 'steps'> | string {
  const bare = bareRoots.find((root) => root === text)
  if (bare) return { root: bare, path: [], constant: undefined }
  if (text.startsWith('const:')) {
    const constant = unquote(text.slice(6).trim())
    return constant === '' ? 'write the constant after const:' : { root: 'const', path: [], constant }
  }
  if (text.startsWith('headers.')) {
    const name = text.slice(8).toLowerCase()
    return headerName.test(name)
      ? { root: 'headers', path: [name], constant: undefined }
      : 'write the name of a header after headers.'
  }
  if (text.startsWith('cookies.')) {
    const name = text.slice(8)
    return headerName.test(name)
      ? { root: 'cookies', path: [name], constant: undefined }
      : 'write the name of a cookie after cookies.'
  }
  if (text === 'key') return { root: 'key', path: ['0'], constant: undefined }
  const root = [...fieldRoots, 'key' as const].find(
    (name) => text.startsWith(`${name}.`) || text.startsWith(`${name}[`),
  )
  if (root) {
    const rest = text.slice(root.length)
    const path = parseFieldPath(rest.startsWith('.') ? rest.slice(1) : rest)
    return path
      ? { root, path, constant: undefined }
      : `write the path of a field after ${root}, such as ${root}.items[0].id`
  }
  if (fieldRoots.some((name) => name === text) || text === 'headers' || text === 'cookies')
    return `name one field of it, such as ${text}.id`
  // With the sign after it, as the words have it that need one.
  const [word = ''] = /^[^.[:]*[.[:]?/.exec(text) ?? []
  return `no such thing in a request; ${didYouMean(word, rootWords)}use ${rootWords.join(', ')}; a constant is written const:${
    /^[\w-]{1,30}$/.test(text) ? text : 'text'
  }`
}

function parseTransform(text: string): SelectorStep | string {
  const transform = transformOf(text)
  if (transform) return { transform }
  return `no transform ${JSON.stringify(text)}; ${didYouMean(text, transformNames)}use ${transformNames.join(', ')}`
}

function parseDefault(text: string): SelectorStep | string {
  const missing = unquote(text)
  if (missing === '') return 'write a default after ??'
  // `headers.x ?? ip` would put everybody without the header in one bucket called "ip".
  if (missing === text && looksSelected.test(text)) {
    return `a default is plain text; for the first of several keys use first: [[...], [${text}]], or quote it: "${text}"`
  }
  return { missing }
}

interface Piece {
  readonly operator: string
  readonly text: string
}

/** Splits at `??` and `|` outside of quotation marks. A mark opens a quotation only where a word could begin. */
function split(text: string): readonly Piece[] | undefined {
  const pieces: Piece[] = []
  let operator = ''
  let start = 0
  let i = 0
  const end = (next: string): void => {
    pieces.push({ operator, text: text.slice(start, i).trim() })
    operator = next
    i += next.length
    start = i
  }
  while (i < text.length) {
    const c = text[i]!
    if ((c === '"' || c === "'") && /(?:^|[\s[:?|])$/.test(text.slice(start, i))) {
      const close = text.indexOf(c, i + 1)
      if (close < 0) return undefined
      i = close + 1
    } else if (c === '|') end('|')
    else if (text.startsWith('??', i)) end('??')
    else i++
  }
  end('')
  return pieces
}

function unquote(text: string): string {
  return text.length >= 2 && /^(["']).*\1$/s.test(text) ? text.slice(1, -1) : text
}
