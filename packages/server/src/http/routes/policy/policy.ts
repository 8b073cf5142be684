import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setImmediate } from 'node:timers/promises'
import type { Context } from 'hono'
import { type PolicyArchive, type PolicyVersion, withoutDatabaseFields } from 'sluice/policy'
import { stringify } from 'yaml'
import { diffDocuments } from '../../../policy/diff-documents.ts'
import { policyTag } from '../../../policy/policy-tag.ts'
import { documentOf } from '../../../policy/rule-changes.ts'
import { type Difference, type PolicyVersions, Rollback } from '../../../shapes/policy.ts'
import type { NodeEnv } from '../../access/access.ts'
import { parseJson, readBody, readText } from '../../input/read-body.ts'
import { readFlag, readNumber } from '../../input/read-query.ts'
import { HttpProblem } from '../../problem.ts'
import type { Routes } from '../../router.ts'
import { policyStatus } from '../reports.ts'
import { overrideRoutes } from './overrides.ts'
import { PolicyPusher, readOnlyReason, standingOf, tried, triedPush, writable } from './push-policy.ts'

/** The largest policy that can be pushed over HTTP. */
const maxPolicyBytes = 16 * 1024 * 1024
const maxVersions = 100

/** `/v1/policy`: what is in force, checking and pushing a document, former versions, and going back to one. */
export const policyRoutes: Routes = ({ admin, read }, parts) => {
  const { limiter } = parts
  const pusher = new PolicyPusher(parts)
  overrideRoutes(admin, parts, pusher)

  read.get('/v1/policy', async function current(c) {
    const { service, rules } = limiter.policy
    const standing = await standingOf(parts)
    const readOnly = readOnlyReason(parts)
    c.header('etag', `"${policyTag(standing)}"`)
    return c.json({
      service,
      ...policyStatus(parts),
      rules,
      upstreams: upstreamsOf(parts.policy.document?.parsed),
      writable: readOnly === null,
      readOnly,
      revision: standing.newest?.revision ?? null,
      document: parts.policy.document?.given ?? null,
      text: textOf(parts.policy.document?.given),
    })
  })

  read.post('/v1/policy/validate', async function check(c) {
    return c.json(await tried(parts, await readDocument(c), c.req.raw.signal))
  })

  admin.put('/v1/policy', async function push(c) {
    const isDryRun = readFlag(c, 'dryRun')
    const document = await readDocument(c)
    if (isDryRun) return c.json({ ...(await triedPush(parts, document, c.req.raw.signal)), pushed: false })
    return c.json(await pusher.push(c, () => document, { what: 'policy.push' }))
  })

  /** Versions never change, so each is compared once. */
  const summaries = new Map<string, ReturnType<typeof versionSummary>>()
  read.get('/v1/policy/versions', async function versions(c) {
    const limit = readNumber(c, 'limit', 20, 1, maxVersions)
    // One more, so that the oldest of them can be compared too.
    const history = await writable(parts).history(limit + 1)
    const entries = parts.audit.newest(Number.POSITIVE_INFINITY)
    const versions: PolicyVersions['versions'][number][] = []
    for (const [i, { revision, createdAt, document }] of history.slice(0, limit).entries()) {
      const id = `${revision} ${createdAt.getTime()}`
      const former = history[i + 1]?.document
      const told = summaries.get(id) ?? versionSummary(former, document)
      if (former !== undefined && summaries.size < maxVersions) summaries.set(id, told)
      const who = entries.find(({ after }) => (after as { revision?: number } | null)?.revision === revision)?.who
      versions.push({ revision, createdAt: createdAt.toISOString(), ...told, who: who ?? null })
      // What decides comes in between.
      await setImmediate()
    }
    return c.json({ versions })
  })

  read.get('/v1/policy/versions/:revision', async function version(c) {
    const given = c.req.param('revision')
    if (!/^\d+$/.test(given)) throw new HttpProblem(404, `${JSON.stringify(given)} is no revision; they are numbers.`)
    const found = await versionOf(writable(parts), Number(given))
    return c.json({ ...found, text: textOf(found.document) })
  })

  admin.post('/v1/policy/rollback', async function rollback(c) {
    const isDryRun = readFlag(c, 'dryRun')
    const archive = writable(parts)
    const { revision } = await readBody(c, Rollback)
    const target = revision === undefined ? (await archive.history(2))[1] : await versionOf(archive, revision)
    if (target === undefined) throw new HttpProblem(404, 'There is no version before the newest.')
    if (isDryRun) return c.json({ ...(await triedPush(parts, target.document)), pushed: false })
    const pushed = await pusher.push(c, () => target.document, { what: 'policy.rollback' })
    return c.json({ ...pushed, rolledBackTo: target.revision })
  })
}

/** The document of a request: JSON as it is, anything else as YAML text. */
export async function readDocument(c: Context<NodeEnv>): Promise<unknown> {
  const text = await readText(c, maxPolicyBytes)
  if (text.trim() === '') throw new HttpProblem(400, 'The body is empty; send a policy as YAML or JSON.')
  return /^application\/json\b/i.test(c.req.header('content-type') ?? '') ? parseJson(text) : text
}

/** A document as text that people edit: as it was written, or as YAML where a database keeps it parsed. */
function textOf(document: unknown): string | null {
  if (document === undefined || typeof document === 'string') return document ?? null
  return stringify(withoutDatabaseFields(document), { lineWidth: 0 })
}

/**
 * The names of the upstreams in the document in force. The daemon does not call them; services that share the policy
 * do.
 */
function upstreamsOf(document: unknown): readonly string[] {
  const { upstreams } = (document ?? {}) as { readonly upstreams?: readonly { readonly name: string }[] }
  return (Array.isArray(upstreams) ? upstreams : []).map(({ name }) => name)
}

async function versionOf(archive: PolicyArchive, revision: number): Promise<PolicyVersion> {
  const found = (await archive.history(maxVersions)).find((version) => version.revision === revision)
  if (found === undefined)
    throw new HttpProblem(404, `There is no revision ${revision} among the versions that are kept.`)
  return found
}

/** `GET /v1/policy/schema`: the JSON Schema of policies, for editors. */
export const policySchemaRoute: Routes = ({ read }) => {
  let schema: string | undefined
  read.get('/v1/policy/schema', function answer(c) {
    schema ??= readFileSync(createRequire(import.meta.url).resolve('sluice/policy.schema.json'), 'utf8')
    return c.body(schema, 200, { 'content-type': 'application/schema+json', 'cache-control': 'private, max-age=300' })
  })
}

const shown = 2
/** A longer document takes longer to compare than a list of versions may. */
const mostText = 200_000

/** What a version changed of the one before it: how much, and the first of it in words. */
function versionSummary(before: unknown, after: unknown): { changes: number | null; summary: string } {
  if (before === undefined) return { changes: null, summary: 'the first that is kept' }
  if ([before, after].some(isLong)) return { changes: null, summary: 'too long to compare here' }
  let found: readonly Difference[]
  try {
    found = diffDocuments(documentOf(before), documentOf(after))
  } catch {
    // What was pushed by other means may not even parse.
    return { changes: null, summary: 'cannot be compared' }
  }
  const words = found.slice(0, shown).map(wordsOf)
  const more = found.length > shown ? [`${found.length - shown} more`] : []
  return { changes: found.length, summary: [...words, ...more].join(', ') || 'no change' }
}

const isLong = (document: unknown): boolean =>
  (typeof document === 'string' ? document : JSON.stringify(document)).length > mostText

function wordsOf({ path, kind, before, after }: Difference): string {
  const place = path === '' ? 'the document' : path
  if (kind !== 'changed') return `${kind} ${place}`
  const [from, to] = [before, after].map((value) => JSON.stringify(value) ?? '')
  return from!.length + to!.length > 60 ? `changed ${place}` : `${place} ${from} → ${to}`
}
