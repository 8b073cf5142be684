import { parseCurl } from './parse-curl.ts'
import { bodyOf, type ReadRequest, type RequestJson, targetOf } from './request.ts'

/** What the reader typed or pasted. */
export type Input =
  | { readonly kind: 'nothing' }
  /** `service/rule/part/...`: exactly one bucket. */
  | { readonly kind: 'full-key'; readonly key: string }
  /** A key of any rule. */
  | { readonly kind: 'key'; readonly key: string | readonly (string | number | boolean)[] }
  | ({ readonly kind: 'request'; readonly from: 'curl' | 'HTTP' | 'JSON' | 'a path' } & ReadRequest)
  | { readonly kind: 'wrong'; readonly message: string }

const methods = 'GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE|CONNECT|QUERY'

/** Determines what a text is: a curl command, a request as HTTP or JSON, or a key. */
export function readInput(given: string, service: string | undefined): Input {
  const text = given.trim()
  if (text === '') return { kind: 'nothing' }
  if (/^(?:\$\s+)?(?:\S*[/\\])?curl(?:\.exe)?\s/i.test(text))
    return { kind: 'request', from: 'curl', ...parseCurl(text.replace(/^\$\s+/, '')) }
  if (new RegExp(`^(?:${methods})\\s+\\S`).test(text)) return { kind: 'request', from: 'HTTP', ...parseHttp(text) }
  if (text.startsWith('{')) return fromJson(text)
  if (text.startsWith('/')) return { kind: 'request', from: 'a path', ...parseHttp(`GET ${text}`) }
  if (text.startsWith('[')) return fromList(text)
  if (/[\r\n]/.test(text))
    return { kind: 'wrong', message: 'Several lines, but no request: begin with a method and a path, or with curl.' }
  const segments = text.split('/')
  if (service !== undefined && unescaped(segments[0]!) === service && segments.length > 2)
    return { kind: 'full-key', key: text }
  if (segments.length > 1 && segments.every((part) => part.trim() !== ''))
    return { kind: 'key', key: segments.map((part) => part.trim()) }
  return { kind: 'key', key: text }
}

/** Undoes the escapes of keys: a service may be called `my service`. */
function unescaped(part: string): string {
  return part.replace(/%([0-9a-f]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** `POST /v1/x HTTP/1.1`, headers, an empty line, and a body. */
function parseHttp(text: string): ReadRequest {
  const [head = '', ...rest] = text.replace(/\r\n/g, '\n').split('\n\n')
  const [first = '', ...lines] = head.split('\n')
  const [, method = 'GET', target = '/'] = /^(\S+)\s+(\S+)/.exec(first) ?? []
  const headers: Record<string, string | string[]> = {}
  for (const line of lines) {
    const [, name, value = ''] = /^([^:\s]+):\s*(.*)$/.exec(line) ?? []
    if (name === undefined) continue
    const former = headers[name.toLowerCase()]
    headers[name.toLowerCase()] = former === undefined ? value.trim() : [former, value.trim()].flat()
  }
  const { path, query, host } = targetOf(target)
  if (host !== undefined) headers.host ??= host
  const notes = new Set<string>()
  const body =
    rest.length === 0 ? {} : bodyOf(rest.join('\n\n'), headers['content-type'] ?? guess(rest.join('')), notes)
  return { request: { method, path, ...(query === undefined ? {} : { query }), headers, ...body }, notes: [...notes] }
}

function guess(body: string): string | undefined {
  return /^\s*[{[]/.test(body) ? 'application/json' : undefined
}

function fromJson(text: string): Input {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { kind: 'wrong', message: `That begins like JSON, but is none: ${(error as Error).message}` }
  }
  const given = value as { request?: unknown }
  const found = (
    typeof given.request === 'object' && given.request !== null ? given.request : given
  ) as Partial<RequestJson>
  const request = { ...found, method: found.method ?? 'GET', path: found.path ?? '/', headers: found.headers ?? {} }
  return { kind: 'request', from: 'JSON', request, notes: [] }
}

function fromList(text: string): Input {
  try {
    const parts = JSON.parse(text) as unknown[]
    const isKey =
      Array.isArray(parts) &&
      parts.length > 0 &&
      parts.every((part) => ['string', 'number', 'boolean'].includes(typeof part))
    if (isKey) return { kind: 'key', key: parts as (string | number | boolean)[] }
  } catch {}
  return { kind: 'wrong', message: 'A key of several parts is written as acme / en, or as ["acme", "en"].' }
}
