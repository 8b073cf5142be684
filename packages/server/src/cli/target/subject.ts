import { readFileSync } from 'node:fs'
import type { ReadKeyPart, RequestView } from 'sluice'
import { identity, pathOf, queryOf } from 'sluice/http'
import { parseReadableKey, parseReadableParts } from 'sluice/internal'
import { wrongUse } from '../cli-error.ts'
import type { Input } from '../command.ts'

/** A key as the command line takes it. Service and rule are known when it was a full key. */
export interface NamedKey {
  readonly service: string | undefined
  readonly rule: string | undefined
  readonly key: readonly ReadKeyPart[]
}

/** Reads KEY: with `--rule` the parts of a key, else a full key, else parts for the only rule of the policy. */
export function readKey(text: string, rule: string | undefined): NamedKey {
  if (text === '') throw wrongUse('KEY is empty; write service/rule/part, such as example/per-user/42')
  if (rule !== undefined) return { service: undefined, rule, key: parseReadableParts(text) }
  const isFull = text.split('/').length > 2
  return isFull ? parseReadableKey(text) : { service: undefined, rule: undefined, key: parseReadableParts(text) }
}

/** The key that a command was given: KEY, or SERVICE and KEY where the service has one rule or `--rule` names it. */
export function keyOf(input: Input): NamedKey {
  const [first = '', second] = input.args
  const rule = input.text('rule')
  if (second === undefined) return readKey(first, rule)
  if (second === '') throw wrongUse('KEY is empty; write it after the service: sluice inspect shop user:42')
  return { service: first, rule, key: parseReadableParts(second) }
}

/** The request that the options describe; undefined when none of them is there. */
export function readRequest(input: Input): RequestView | undefined {
  const target = input.text('path')
  if (target === undefined) {
    const lonely = ['method', 'header', 'body', 'ip', 'context'].find((option) => input.given(option))
    if (lonely !== undefined) throw wrongUse(`--${lonely} describes a request; say which with --path`)
    return undefined
  }
  if (!target.startsWith('/'))
    throw wrongUse(`--path is ${JSON.stringify(target)}; it starts with a slash: /v1/analyze`)
  const body = input.text('body')
  const ip = input.text('ip')
  return {
    method: (input.text('method') ?? (body === undefined ? 'GET' : 'POST')).toUpperCase(),
    path: pathOf(target),
    headers: readHeaders(input.many('header')),
    ...(target.includes('?') ? { query: queryOf(target) } : {}),
    ...(body === undefined ? {} : { body: readBody(body) }),
    ...(input.given('context') ? { context: readContext(input.many('context')) } : {}),
    // In the one spelling that services and the daemon use too.
    ...(ip === undefined ? {} : { ip: identity()(ip, {}) ?? ip }),
  }
}

/** `user.plan=pro` as `{ user: { plan: 'pro' } }`. */
function readContext(lines: readonly string[]): Record<string, unknown> {
  const context: Record<string, unknown> = Object.create(null)
  for (const line of lines) {
    const [, path, value = ''] = /^([^=\s]+)=(.*)$/s.exec(line) ?? []
    if (path === undefined) throw wrongUse(`--context is ${JSON.stringify(line)}; write user.plan=pro`)
    const steps = path.split('.')
    const last = steps.pop()!
    let place = context
    for (const step of steps) {
      const next = place[step]
      place = place[step] = typeof next === 'object' && next !== null ? (next as never) : Object.create(null)
    }
    place[last] = value
  }
  return context
}

function readHeaders(lines: readonly string[]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = Object.create(null)
  for (const line of lines) {
    const [, given, value = ''] = /^([^:\s]+)\s*:\s*(.*)$/s.exec(line) ?? []
    if (given === undefined) throw wrongUse(`--header is ${JSON.stringify(line)}; write name:value`)
    const name = given.toLowerCase()
    headers[name] = name in headers ? [headers[name]!, value].flat() : value
  }
  return headers
}

function readBody(given: string): unknown {
  const text = given.startsWith('@') ? readFileSync(given === '@-' ? 0 : given.slice(1), 'utf8') : given
  try {
    return JSON.parse(text)
  } catch (error) {
    throw wrongUse(`--body is not JSON: ${(error as Error).message}`)
  }
}
