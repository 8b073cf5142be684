import { bodyOf, type ReadRequest, type RequestJson, targetOf } from './request.ts'
import { shellWords } from './shell-words.ts'

type Header = readonly [name: string, value: string]

/** What the options of a command say. */
class Collected {
  method: string | undefined
  url: string | undefined
  readonly headers: Header[] = []
  readonly removed = new Set<string>()
  readonly data: string[] = []
  readonly queries: string[] = []
  json: string | undefined
  isGet = false
  isHead = false
  isForm = false
  isUpload = false
  readonly notes: Set<string>

  constructor(notes: readonly string[]) {
    this.notes = new Set(notes)
  }

  /** A text, or nothing for a file, which is not read. */
  textOf(given: string): string {
    if (!given.startsWith('@')) return given
    this.notes.add(`The file ${given.slice(1)} is not read.`)
    return ''
  }
}

/**
 * Reads the request that a curl command would send, as far as rules can see it. Nothing is run, no file is read and no
 * variable looked up; what is left out for that reason is listed in `notes`.
 */
export function parseCurl(text: string): ReadRequest {
  const { words, notes } = shellWords(text)
  const found = new Collected(notes)
  const start = words.findIndex((word) => /(?:^|[/\\])curl(?:\.exe)?$/i.test(word))
  readOptions(words.slice(start + 1), found)
  return { request: requestOf(found), notes: [...found.notes] }
}

function readOptions(words: readonly string[], found: Collected): void {
  let isPlain = false
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!
    const next = (): string => words[++i] ?? ''
    if (isPlain || !word.startsWith('-') || word === '-') found.url ??= word
    else if (word === '--') isPlain = true
    else if (word === '--next' || word === '-:') {
      found.notes.add('Only the first request is looked at.')
      return
    } else if (word.startsWith('--')) {
      const [name = '', given] = word.slice(2).split(/=(.*)/s, 2)
      readOption(name, () => given ?? next(), found)
    } else readShort(word.slice(1), next, found)
  }
}

/** `-sSXPOST` is -s, -S and -X with the value POST. */
function readShort(letters: string, next: () => string, found: Collected): void {
  for (const [i, letter] of [...letters].entries()) {
    const rest = letters.slice(i + 1)
    if (readOption(shortNames[letter] ?? letter, () => (rest === '' ? next() : rest), found)) return
  }
}

/** Returns whether the option takes a value; what is not known is a switch such as -s, and does not change anything. */
function readOption(name: string, value: () => string, found: Collected): boolean {
  if (name === 'get') found.isGet = true
  if (name === 'head') found.isHead = true
  const effect = effects.get(name)
  const takesValue = effect !== undefined || ignoredWithValue.has(name)
  const given = takesValue ? value() : ''
  effect?.(given, found)
  return takesValue
}

type Effect = (value: string, found: Collected) => void

const sends = (name: string, start = ''): Effect => {
  return (value, { headers }) => void headers.push([name, start + value])
}
const addData: Effect = (value, found) => void found.data.push(found.textOf(value))
const sets = (name: 'method' | 'url' | 'json'): Effect => {
  return (value, found) => {
    found[name] = value
  }
}
const leavesOutBody: Effect = (_, found) => {
  found.isForm = true
  found.notes.add('A multipart body is left out.')
}

/** What the options with a value do. */
const effects: ReadonlyMap<string, Effect> = new Map<string, Effect>([
  ['request', sets('method')],
  ['url', (value, found) => sets('url')(found.url ?? value, found)],
  ['header', addHeader],
  ['data', addData],
  ['data-ascii', addData],
  ['data-binary', addData],
  ['data-raw', (value, { data }) => void data.push(value)],
  ['data-urlencode', (value, found) => void found.data.push(urlEncoded(value, found))],
  ['url-query', (value, found) => void found.queries.push(urlEncoded(value, found))],
  ['json', (value, found) => sets('json')((found.json ?? '') + found.textOf(value), found)],
  ['user', (value, found) => sends('authorization', 'Basic ')(base64(value), found)],
  ['oauth2-bearer', sends('authorization', 'Bearer ')],
  ['user-agent', sends('user-agent')],
  ['referer', sends('referer')],
  ['range', sends('range', 'bytes=')],
  ['cookie', (value, found) => (value.includes('=') ? sends('cookie') : notRead)(value, found)],
  ['form', leavesOutBody],
  ['form-string', leavesOutBody],
  ['upload-file', (value, found) => notRead(value, Object.assign(found, { isUpload: true }))],
])

function notRead(file: string, found: Collected): void {
  found.textOf(`@${file}`)
}

function addHeader(line: string, found: Collected): void {
  const [, name, mark, value = ''] = /^([^:;]+)([:;])(.*)$/s.exec(found.textOf(line)) ?? []
  if (name === undefined) return
  const lower = name.trim().toLowerCase()
  // `Name:` removes a header of curl's own, `Name;` sends it empty.
  if (mark === ':' && value.trim() === '') found.removed.add(lower)
  else found.headers.push([lower, value.trim()])
}

/** `name=value`, `=value` or `value`; after `@` a file follows. */
function urlEncoded(text: string, found: Collected): string {
  const [, name, value] = /^([^=@]*)=(.*)$/s.exec(text) ?? []
  if (value !== undefined) return `${name === '' ? '' : `${name}=`}${encodeURIComponent(value)}`
  const file = text.indexOf('@')
  return file < 0 ? encodeURIComponent(text) : found.textOf(text.slice(file))
}

function requestOf(found: Collected): RequestJson {
  const { json, isGet, isHead } = found
  const data = found.data.join('&')
  const extra = [...found.queries, ...(isGet && data !== '' ? [data] : [])].join('&')
  const { path, query, host } = targetOf(found.url ?? '/', extra)
  if (found.url === undefined) found.notes.add('The command has no address.')
  const text = json ?? (found.data.length > 0 && !isGet && !isHead ? data : undefined)
  const type = json === undefined ? 'application/x-www-form-urlencoded' : 'application/json'
  const defaults: readonly Header[] = [
    ...(host === undefined ? [] : [['host', host] as const]),
    ['accept', json === undefined ? '*/*' : 'application/json'],
    ['user-agent', 'curl'],
    ...(text === undefined ? [] : [['content-type', type] as const]),
  ]
  const headers = headersOf(
    defaults.filter(([name]) => !found.removed.has(name)),
    found.headers,
  )
  const body = text === undefined ? {} : bodyOf(text, headers['content-type'], found.notes)
  const usual = isHead ? 'HEAD' : found.isUpload ? 'PUT' : text !== undefined || found.isForm ? 'POST' : 'GET'
  return { method: found.method ?? usual, path, ...(query === undefined ? {} : { query }), headers, ...body }
}

/** A given header replaces the one that curl sends by itself; one that is given twice is sent twice. */
function headersOf(defaults: readonly Header[], given: readonly Header[]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = Object.fromEntries(defaults)
  const seen = new Set<string>()
  for (const [name, value] of given) {
    const former = seen.has(name) ? headers[name] : undefined
    headers[name] = former === undefined ? value : [former, value].flat()
    seen.add(name)
  }
  return headers
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)))
}

const listed = (text: string): readonly string[] => text.trim().split(/\s+/)

/** The letters of options that change the request, with their names. */
const shortNames: Readonly<Record<string, string>> = {
  ...{ X: 'request', H: 'header', d: 'data', G: 'get', u: 'user', A: 'user-agent', b: 'cookie', e: 'referer' },
  ...{ I: 'head', F: 'form', T: 'upload-file', r: 'range' },
}

/** Options that take a value and do not change the request as rules see it. */
const ignoredWithValue: ReadonlySet<string> = new Set(
  listed(`output max-time write-out proxy cookie-jar cert key cacert capath connect-timeout retry retry-delay retry-max-time
  resolve connect-to interface max-redirs limit-rate dump-header config continue-at speed-limit speed-time time-cond
  proxy-user quote telnet-option ftp-port ciphers tls-max cert-type key-type pass pinnedpubkey dns-servers local-port
  keepalive-time max-filesize unix-socket noproxy trace trace-ascii stderr output-dir rate proto proto-redir
  expect100-timeout happy-eyeballs-timeout-ms parallel-max variable aws-sigv4 curves proxy-header crlfile
  o m w x c E K D C Y y z U Q t P h`),
)
