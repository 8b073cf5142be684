import { createHash } from 'node:crypto'
import type { PolicyVersion } from 'sluice/policy'

/** How long a version that was pushed may take to come into force before it no longer counts as on its way. */
const pendingMs = 10_000

/** The policy that runs, and what its source has as the newest. */
export interface Standing {
  readonly version: string
  readonly document: unknown
  readonly ageMs: number
  readonly hasError: boolean
  readonly newest: PolicyVersion | undefined
}

/**
 * Names the version that was read, so that a later change can require that it is still in force: the document, and the
 * revision that was newest at its source. The revision shows a push that this daemon has not read yet.
 */
export function policyTag({ document, newest }: Pick<Standing, 'document' | 'newest'>): string {
  return `${hashOf(document)}-${newest?.revision ?? 0}`
}

/** Why a change that was made on top of `expected` must not be written; undefined when it may. */
export function conflictOf(expected: string | undefined, standing: Standing, nowMs: number): string | undefined {
  if (expected === undefined) return undefined
  const { version, newest } = standing
  const given = expected.replace(/^(?:W\/)?"|"$/g, '')
  if (given !== '*' && given !== version && given !== policyTag(standing))
    return `Version ${version}${newest === undefined ? '' : `, revision ${newest.revision},`} is in force; what you changed was another.`
  if (newest !== undefined && isPending(standing, newest, nowMs))
    return `Revision ${newest.revision} was pushed a moment ago and is about to come into force.`
  return undefined
}

function isPending({ document, ageMs, hasError }: Standing, newest: PolicyVersion, nowMs: number): boolean {
  const pushedMs = newest.createdAt.getTime()
  const isNew = pushedMs > nowMs - ageMs && pushedMs > nowMs - pendingMs
  return isNew && !hasError && hashOf(newest.document) !== hashOf(document)
}

function hashOf(document: unknown): string {
  const text = typeof document === 'string' ? document : JSON.stringify(sorted(document))
  return createHash('sha256')
    .update(text ?? '')
    .digest('hex')
    .slice(0, 16)
}

/** Databases give fields back in an order of their own. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, each]) => [name, sorted(each)]),
  )
}
