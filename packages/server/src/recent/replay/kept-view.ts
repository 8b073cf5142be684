import { createHash } from 'node:crypto'
import type { RequestView } from 'sluice'
import { cookieOf } from 'sluice/internal'
import type { ReadField } from 'sluice/policy'
import { type Hide, isSecretName } from './secret-names.ts'

/** Longer texts are kept as their hash: limits count them by a hash as well. */
const maxText = 200
const maxPath = 500
const maxRepeats = 8
/** Most fields of one request. */
export const maxFields = 64

/** As much of a request as the rules look at, with secrets hidden and every text bounded. */
export function keptView(view: RequestView, fields: readonly ReadField[], hide: Hide): RequestView {
  const headers: Record<string, string | readonly string[]> = Object.create(null)
  const rest: Partial<Record<'query' | 'params' | 'body' | 'context', Record<string, unknown>>> = {}
  for (const { root, path } of fields) {
    if (root === 'headers') {
      const name = path[0]!
      const value = view.headers[name]
      if (value !== undefined) headers[name] = kept(value, isSecretName(name), hide) as string | string[]
    } else if (root === 'host') {
      const name = view.headers.host === undefined ? ':authority' : 'host'
      const value = view.headers[name]
      if (value !== undefined) headers[name] = kept(value, false, hide) as string | string[]
    } else if (root === 'cookies') {
      const name = path[0]!
      const values = [cookieOf(view.headers, name) ?? []].flat().map((value) => `${name}=${hide(value)}`)
      if (values.length > 0) headers.cookie = [headers.cookie ?? [], ...values].flat().join('; ')
    } else if (root === 'query' || root === 'params' || root === 'body' || root === 'context') {
      const found = valueAt(view[root], path)
      if (found === undefined) continue
      rest[root] ??= Object.create(null) as Record<string, unknown>
      put(rest[root], path, kept(found, path.some(isSecretName), hide))
    }
  }
  return {
    method: view.method.slice(0, 40),
    path: view.path.slice(0, maxPath),
    headers,
    ...(view.route === undefined ? {} : { route: view.route.slice(0, maxPath) }),
    ...(view.ip === undefined ? {} : { ip: view.ip.slice(0, maxText) }),
    ...rest,
    ...(typeof view.body === 'symbol' ? { body: view.body } : {}),
  }
}

/** About how many bytes a kept view takes. */
export function sizeOf(view: RequestView): number {
  let size = 200 + 2 * (view.path.length + (view.route?.length ?? 0) + (view.ip?.length ?? 0))
  for (const part of [view.headers, view.query, view.params, view.body, view.context]) size += sizeIn(part)
  return size
}

function sizeIn(value: unknown): number {
  if (typeof value === 'string') return 32 + 2 * value.length
  if (typeof value !== 'object' || value === null) return 8
  let size = 32
  for (const name in value) size += 16 + 2 * name.length + sizeIn((value as Record<string, unknown>)[name])
  return size
}

function kept(value: unknown, isSecret: boolean, hide: Hide): unknown {
  if (Array.isArray(value)) return value.slice(0, maxRepeats).map((each) => keptScalar(each, isSecret, hide))
  return keptScalar(value, isSecret, hide)
}

function keptScalar(value: unknown, isSecret: boolean, hide: Hide): unknown {
  if (typeof value === 'object' && value !== null) return {}
  if (typeof value === 'string') return keptText(value, isSecret, hide)
  return isSecret && value !== null ? hide(String(value)) : value
}

/** A text as it is kept: hidden if it is secret, and never long. An empty one says nothing and stays. */
export function keptText(text: string, isSecret: boolean, hide: Hide): string {
  if (isSecret && text !== '') return hide(text)
  return text.length <= maxText ? text : `~${createHash('sha256').update(text).digest('hex')}`
}

function valueAt(from: unknown, path: readonly string[]): unknown {
  let value = from
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string, unknown>)[step]
  }
  return value
}

function put(into: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let place = into
  for (const step of path.slice(0, -1)) {
    const next = place[step]
    if (typeof next === 'object' && next !== null && !Array.isArray(next)) place = next as Record<string, unknown>
    else place = place[step] = Object.create(null) as Record<string, unknown>
  }
  place[path.at(-1)!] = value
}
