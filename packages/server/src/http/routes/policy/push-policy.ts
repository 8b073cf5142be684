import type { Context } from 'hono'
import { PolicyError } from 'sluice'
import {
  type CompiledPolicy,
  compilePolicyInSlices,
  type PolicyArchive,
  parseInBackground,
  policyWarnings,
} from 'sluice/policy'
import { diffDocuments } from '../../../policy/diff-documents.ts'
import { locateInBackground } from '../../../policy/issues/locate-in-background.ts'
import { conflictOf, policyTag, type Standing } from '../../../policy/policy-tag.ts'
import { ruleChanges } from '../../../policy/rule-changes.ts'
import { shortValue } from '../../../policy/short-value.ts'
import type { AuditEntry } from '../../../shapes/policy.ts'
import type { NodeEnv } from '../../access/access.ts'
import { actorOf } from '../../access/actor.ts'
import type { ApiParts } from '../../api-parts.ts'
import { clientGone, HttpProblem } from '../../problem.ts'

/** Most differences that an answer lists. */
const maxDifferences = 200

/** A document that makes sense. */
export interface CheckedDocument {
  readonly policy: CompiledPolicy
  /** The document as an object. */
  readonly parsed: unknown
}

/**
 * Checks a document; a mistake is answered with where in the text it stands. The daemon decides meanwhile, however long
 * the document is, and stops when the client leaves.
 */
export async function checked(
  { env }: Pick<ApiParts, 'env'>,
  document: unknown,
  signal?: AbortSignal,
): Promise<CheckedDocument> {
  try {
    const parsed = typeof document === 'string' ? await parseInBackground(document, signal) : document
    return { policy: await compilePolicyInSlices(parsed, { env, signal }), parsed }
  } catch (error) {
    if (!(error instanceof PolicyError)) throw signal?.aborted ? clientGone() : error
    const places = typeof document === 'string' ? await placesOf(document, error, signal) : []
    const issues = error.issues.map(({ path, value, message }, i) => ({
      path,
      value: shortValue(value) ?? null,
      message,
      ...(places[i] === undefined ? {} : { range: places[i] }),
    }))
    throw new HttpProblem(422, error.message, { code: error.code, issues })
  }
}

async function placesOf(
  text: string,
  { issues }: PolicyError,
  signal: AbortSignal | undefined,
): ReturnType<typeof locateInBackground> {
  try {
    return await locateInBackground(text, issues, signal)
  } catch (error) {
    throw signal?.aborted ? clientGone() : error
  }
}

/** What a document would do; throws with every mistake when it makes no sense. */
export async function tried(
  parts: ApiParts,
  document: unknown,
  signal?: AbortSignal,
): Promise<Record<string, unknown>> {
  const { limiter } = parts
  const { policy, parsed: after } = await checked(parts, document, signal)
  const before = parts.policy.document?.parsed
  return {
    valid: true,
    service: policy.service,
    version: policy.version,
    inForce: limiter.policy.status.version,
    rules: policy.rules.map(({ name }) => name),
    upstreams: policy.upstreams.map(({ name }) => name),
    warnings: policyWarnings(policy, Date.now()),
    changes: before === undefined ? null : ruleChanges(before, after),
    differences: before === undefined ? null : diffDocuments(before, after).slice(0, maxDifferences),
  }
}

/** The same for a document that is to be pushed, or would be. */
export async function triedPush(
  parts: ApiParts,
  document: unknown,
  signal?: AbortSignal,
): Promise<Record<string, unknown>> {
  const outcome = await tried(parts, document, signal)
  const { service } = parts.limiter.policy
  // Counters are kept under the service's name: another name would silently reset all of them.
  if (outcome.service === service) return outcome
  const names = [outcome.service, service].map((name) => JSON.stringify(name))
  throw new HttpProblem(409, `The document is for ${names[0]}, the daemon enforces ${names[1]}.`)
}

/** The policy that runs beside the newest version at its source. */
export async function standingOf({ limiter, policy, archive }: ApiParts): Promise<Standing> {
  const [newest] = (await archive?.history(1)) ?? []
  const { version, ageMs, lastError } = limiter.policy.status
  return { version, ageMs, hasError: lastError !== undefined, document: policy.document?.given, newest }
}

/**
 * Puts documents in force, one after the other: between reading the present one and the push, there is no other push.
 */
export class PolicyPusher {
  readonly #parts: ApiParts
  readonly #whoIs: ReturnType<typeof actorOf>
  #last: Promise<unknown> = Promise.resolve()

  constructor(parts: ApiParts) {
    this.#parts = parts
    this.#whoIs = actorOf(parts)
  }

  /**
   * Makes a document of the one in force and pushes it, unless another operator has changed it since the version of
   * `If-Match`. `needsMatch` refuses to push without that header: for changes to a part of what runs.
   */
  push(
    c: Context<NodeEnv>,
    make: () => unknown | Promise<unknown>,
    { what, needsMatch = false, target }: PushOptions,
  ): Promise<Record<string, unknown>> {
    const pushed = this.#last.then(async () => {
      const archive = writable(this.#parts)
      const expected = c.req.header('if-match')
      if (needsMatch && expected === undefined)
        throw new HttpProblem(428, 'Say with If-Match on top of which policy this change is made.')
      const standing = await standingOf(this.#parts)
      const conflict = conflictOf(expected, standing, Date.now())
      if (conflict !== undefined) throw new HttpProblem(412, conflict, { version: standing.version })
      const document = await make()
      const outcome = await triedPush(this.#parts, document)
      // Another daemon on the same source may push in this moment.
      const options = expected === undefined ? {} : { after: standing.newest?.revision ?? 0 }
      const revision = await write(archive, document, options, this.#parts)
      const { version, differences } = outcome
      this.#parts.audit.add({
        who: this.#whoIs(c),
        what,
        target: target ?? `revision ${revision}`,
        before: { version: standing.version, revision: standing.newest?.revision ?? null },
        after: { version, revision, differences },
      })
      c.header('etag', `"${policyTag({ document, newest: { revision, createdAt: new Date(), document } })}"`)
      return { ...outcome, pushed: true, revision }
    })
    this.#last = pushed.catch(() => {})
    return pushed
  }
}

export interface PushOptions {
  /** For the audit log, such as `policy.push`. */
  readonly what: AuditEntry['what']
  readonly target?: string
  readonly needsMatch?: boolean
}

/**
 * A folder that is mounted read-only, or belongs to another user, is not a fault of the daemon: operators can fix it.
 */
async function write(
  archive: PolicyArchive,
  document: unknown,
  options: { readonly after?: number },
  { limiter }: ApiParts,
): Promise<number> {
  try {
    return await archive.push(document, options)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined || !['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'EBUSY'].includes(code)) throw error
    throw new HttpProblem(409, `The policy at ${limiter.policy.status.source} cannot be written: ${code}.`)
  }
}

export function writable({ archive, limiter }: ApiParts): PolicyArchive {
  if (archive !== undefined) return archive
  throw new HttpProblem(409, `The policy comes from ${limiter.policy.status.source}, which cannot be written to.`)
}

/** Why a policy cannot be pushed, for people; null when it can, as far as that is known without trying. */
export function readOnlyReason({ archive, limiter, isWritable }: ApiParts): string | null {
  const { source } = limiter.policy.status
  if (archive === undefined) return `The policy comes from ${source}, which cannot be written to.`
  return isWritable()
    ? null
    : `The daemon may not write to ${source}. Change the policy there, or let the daemon write.`
}
