import { PolicyError, type PolicyIssue } from '../policy-error.ts'
import { maxDocumentLength, measureDocument } from './document-bounds.ts'
import { parseYaml } from './parse-yaml.ts'

/**
 * Reads a policy document from YAML 1.2 or JSON text. Fields given twice are refused, aliases are read but `<<` is not,
 * and what the text could blow up to is bounded. JSON reads about fifty times faster: use it for tens of thousands of
 * overrides.
 *
 * @example parseDocument('service: api\nrules: [{ name: per-user, limits: { rpm: 100 } }]')
 */
export function parseDocument(text: string): unknown {
  if (typeof text !== 'string') throw refused(text, 'use YAML or JSON text')
  if (text.length > maxDocumentLength) throw refused(text, `use at most ${maxDocumentLength} characters`)
  const value = (/^\ufeff?\s*\{/.test(text) ? parseJson(text) : undefined) ?? parseYaml(text)
  if (value === null || value === undefined) throw refused(value, 'it is empty; give service and rules')
  return value
}

function refused(value: unknown, message: string): PolicyError {
  return new PolicyError([{ path: '', value, message }])
}

/**
 * Reads strict JSON; undefined when it is not, or when a field is given twice, so that the slower reader can say where.
 */
function parseJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''))
  } catch {
    return undefined
  }
  let failed: PolicyIssue | undefined
  const size = measureDocument(value, (path, found, message) => {
    failed = { path, value: found, message }
  })
  if (failed) throw new PolicyError([failed])
  // A field that is written twice is there once after parsing.
  return size?.fields === countColons(text) ? value : undefined
}

function countColons(text: string): number {
  let colons = 0
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 58) colons++
    else if (c === 34) i = endOfString(text, i)
  }
  return colons
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0
  while (text.charCodeAt(at - 1 - backslashes) === 92) backslashes++
  return backslashes % 2 === 1
}
