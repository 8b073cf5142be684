import { ignoredWithValue, shortNames } from './curl-options.ts'
import { bodyOf, type ReadRequest, type RequestJson, targetOf } from './request.ts'
import { shellWords } from './shell-words.ts'

interface Collected {
  method: string | undefined
  url: string | undefined
  readonly headers: [name: string, value: string][]
  readonly removed: Set<string>
  readonly data: string[]
  readonly queries: string[]
  json: string | undefined
  isGet: boolean
  isHead: boolean
  isForm: boolean
  isUpload: boolean
  readonly notes: Set<string>
}

/**
 * Reads the request that a curl command would send, as far as rules can see it. Nothing is run, no file is read and no
 * variable looked up; what is left out for that reason is listed in `notes`.
 */
export function parseCurl(text: string): ReadRequest {
  const { words, notes } = shellWords(text)
  const found: Collected = {
    method: undefined,
    url: undefined,
    headers: [],
    removed: new Set(),
    data: [],
    queries: [],
    json: undefined,
    isGet: false,
    isHead: false,
    isForm: false,
    isUpload: false,
    notes: new Set(notes),
  }
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
      option(name, () => given ?? next(), found)
    } else readShort(word.slice(1), next, found)
  }
}

/** `-sSXPOST` is -s, -S and -X with the value POST. */
function readShort(letters: string, next: () => string, found: Collected): void {
  for (let i = 0; i < letters.length; i++) {
    const name = shortNames[letters[i]!]
    // The others are switches such as -s, -k and -L, which do not change the request.
    if (name === undefined) continue
    if (name === 'get' || name === 'head') {
      option(name, next, found)
      continue
    }
    const rest = letters.slice(i + 1)
    option(name, () => (rest === '' ? next() : rest), found)
    return
  }
}

function option(name: string, value: () => string, found: Collected): void {
  switch (name) {
    case 'request':
      found.method = value()
      return
    case 'url':
      found.url ??= value()
      return
    case 'header':
      addHeader(value(), found)
      return
    case 'data':
    case 'data-ascii':
    case 'data-binary':
      addData(value(), found, true)
      return
    case 'data-raw':
      addData(value(), found, false)
      return
    case 'data-urlencode':
      found.data.push(urlEncoded(value(), found))
      return
    case 'url-query':
      found.queries.push(urlEncoded(value(), found))
      return
    case 'json':
      found.json = (found.json ?? '') + fileOr(value(), found)
      return
    case 'get':
      found.isGet = true
      return
    case 'head':
      found.isHead = true
      return
    case 'user':
      found.headers.push(['authorization', `Basic ${base64(value())}`])
      return
    case 'oauth2-bearer':
      found.headers.push(['authorization', `Bearer ${value()}`])
      return
    case 'user-agent':
      found.headers.push(['user-agent', value()])
      return
    case 'referer':
      found.headers.push(['referer', value()])
      return
    case 'range':
      found.headers.push(['range', `bytes=${value()}`])
      return
    case 'cookie':
      addCookie(value(), found)
      return
    case 'form':
    case 'form-string':
      value()
      found.isForm = true
      found.notes.add('A multipart body is left out.')
      return
    case 'upload-file':
      found.notes.add(`The file ${value()} is not read.`)
      found.isUpload = true
      return
    default:
      if (ignoredWithValue.has(name)) value()
  }
}

function addHeader(line: string, found: Collected): void {
  if (line.startsWith('@')) {
    found.notes.add(`The file ${line.slice(1)} is not read.`)
    return
  }
  const [, name, mark, value = ''] = /^([^:;]+)([:;])(.*)$/s.exec(line) ?? []
  if (name === undefined) return
  const lower = name.trim().toLowerCase()
  // `Name:` removes a header of curl's own, `Name;` sends it empty.
  if (mark === ':' && value.trim() === '') found.removed.add(lower)
  else found.headers.push([lower, value.trim()])
}

function addCookie(text: string, found: Collected): void {
  if (text.includes('=')) found.headers.push(['cookie', text])
  else found.notes.add(`The file ${text} is not read.`)
}

function addData(text: string, found: Collected, mayBeFile: boolean): void {
  found.data.push(mayBeFile ? fileOr(text, found) : text)
}

function fileOr(text: string, found: Collected): string {
  if (!text.startsWith('@')) return text
  found.notes.add(`The file ${text.slice(1)} is not read.`)
  return ''
}

/** `name=value`, `=value` or `value`; after `@` a file follows. */
function urlEncoded(text: string, found: Collected): string {
  const [, name, value] = /^([^=@]*)=(.*)$/s.exec(text) ?? []
  if (value !== undefined) return name === '' ? encodeURIComponent(value) : `${name}=${encodeURIComponent(value)}`
  if (!text.includes('@')) return encodeURIComponent(text)
  fileOr(text.slice(text.indexOf('@')), found)
  return ''
}

function requestOf(found: Collected): RequestJson {
  const isDataSent = !found.isGet && !found.isHead
  const data = found.data.join('&')
  const extra = [...found.queries, ...(found.isGet && data !== '' ? [data] : [])].join('&')
  const { path, query, host } = targetOf(found.url ?? '/', extra)
  if (found.url === undefined) found.notes.add('The command has no address.')
  const text = found.json ?? (found.data.length > 0 && isDataSent ? data : undefined)
  const defaults: [string, string][] = [
    ...(host === undefined ? [] : [['host', host] as [string, string]]),
    ['accept', found.json === undefined ? '*/*' : 'application/json'],
    ['user-agent', 'curl'],
    ...(text === undefined
      ? []
      : [
          ['content-type', found.json === undefined ? 'application/x-www-form-urlencoded' : 'application/json'] as [
            string,
            string,
          ],
        ]),
  ]
  const headers = headersOf(
    defaults.filter(([name]) => !found.removed.has(name)),
    found.headers,
  )
  const body = text === undefined ? {} : bodyOf(text, headers['content-type'], found.notes)
  const sent = text !== undefined || found.isForm
  const method = found.method ?? (found.isHead ? 'HEAD' : found.isUpload ? 'PUT' : sent ? 'POST' : 'GET')
  return { method, path, ...(query === undefined ? {} : { query }), headers, ...body }
}

/** A given header replaces the one that curl sends by itself; one that is given twice is sent twice. */
function headersOf(
  defaults: readonly [string, string][],
  given: readonly [string, string][],
): Record<string, string | string[]> {
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
