import type { Context } from 'hono'
import type { PolicyArchive, PolicyVersion } from 'sluice'
import { compilePolicy } from 'sluice/policy'
import { documentOf, ruleChanges } from '../../policy/rule-changes.ts'
import type { NodeEnv } from '../access.ts'
import type { ApiParts } from '../api-parts.ts'
import type { Routes } from '../app.ts'
import { readWhole } from '../inputs.ts'
import { HttpProblem } from '../problem.ts'
import { parseJson, readJson, readText } from '../read-body.ts'
import { readFlag, readNumber, readQuery } from '../read-query.ts'
import { policyStatus } from './stats.ts'

/** The largest policy that can be pushed over HTTP. */
const maxPolicyBytes = 16 * 1024 * 1024
const maxVersions = 100

/** `/v1/policy`: what is in force, checking and pushing a document, former versions, and going back to one. */
export const policyRoutes: Routes = (app, parts) => {
  const { limiter } = parts

  app.get('/v1/policy', async function read(c) {
    readQuery(c)
    const { service, rules } = limiter.policy
    const [newest] = (await parts.archive?.history(1)) ?? []
    c.header('etag', `"${limiter.policy.status.version}"`)
    return c.json({
      service,
      ...policyStatus(parts),
      rules,
      upstreams: upstreamsOf(parts.policy.document),
      writable: parts.isWritable(),
      revision: newest?.revision ?? null,
      document: parts.policy.document ?? null,
    })
  })

  app.post('/v1/policy/validate', async function check(c) {
    readQuery(c)
    return c.json(tried(parts, await readDocument(c)))
  })

  app.put('/v1/policy', async function push(c) {
    const isDryRun = readFlag('dryRun', readQuery(c, 'dryRun').dryRun)
    const document = await readDocument(c)
    if (isDryRun) return c.json({ ...tried(parts, document), pushed: false })
    return c.json(await pushed(c, parts, document))
  })

  app.get('/v1/policy/versions', async function versions(c) {
    const limit = readNumber('limit', readQuery(c, 'limit').limit, 20, 1, maxVersions)
    const history = await writable(parts).history(limit)
    return c.json({ versions: history.map(({ revision, createdAt }) => ({ revision, createdAt })) })
  })

  app.get('/v1/policy/versions/:revision', async function version(c) {
    readQuery(c)
    return c.json(await versionOf(writable(parts), Number(c.req.param('revision'))))
  })

  app.post('/v1/policy/rollback', async function rollback(c) {
    const isDryRun = readFlag('dryRun', readQuery(c, 'dryRun').dryRun)
    const archive = writable(parts)
    const revision = readWhole((await readJson(c, 'revision')).revision, 'revision')
    const target = revision === undefined ? (await archive.history(2))[1] : await versionOf(archive, revision)
    if (target === undefined) throw new HttpProblem(404, 'There is no version before the newest.')
    if (isDryRun) return c.json({ ...tried(parts, target.document), pushed: false })
    return c.json({ ...(await pushed(c, parts, target.document)), rolledBackTo: target.revision })
  })
}

/** The document of a request: JSON as it is, anything else as YAML text. */
async function readDocument(c: Context<NodeEnv>): Promise<unknown> {
  const text = await readText(c, maxPolicyBytes)
  if (text.trim() === '') throw new HttpProblem(400, 'The body is empty; send a policy as YAML or JSON.')
  return /^application\/json\b/i.test(c.req.header('content-type') ?? '') ? parseJson(text) : text
}

/**
 * The names of the upstreams in the document in force. The daemon does not call them; services that share the policy
 * do.
 */
function upstreamsOf(document: unknown): readonly string[] {
  const { upstreams } = (documentOf(document) ?? {}) as { readonly upstreams?: readonly { readonly name: string }[] }
  return (Array.isArray(upstreams) ? upstreams : []).map(({ name }) => name)
}

/** What a document would do; throws with every mistake when it makes no sense. */
function tried({ limiter, policy: inForce, env }: ApiParts, document: unknown): Record<string, unknown> {
  const policy = compilePolicy(document, { env })
  return {
    valid: true,
    service: policy.service,
    version: policy.version,
    inForce: limiter.policy.status.version,
    rules: policy.rules.map(({ name }) => name),
    upstreams: policy.upstreams.map(({ name }) => name),
    changes: inForce.document === undefined ? null : ruleChanges(documentOf(inForce.document), documentOf(document)),
  }
}

async function pushed(c: Context<NodeEnv>, parts: ApiParts, document: unknown): Promise<Record<string, unknown>> {
  const archive = writable(parts)
  const outcome = tried(parts, document)
  const { service, status } = parts.limiter.policy
  // Counters are kept under the service's name: another name would silently begin everything anew.
  if (outcome.service !== service)
    throw new HttpProblem(
      409,
      `The document is for ${JSON.stringify(outcome.service)}, the daemon enforces ${JSON.stringify(service)}.`,
    )
  const expected = c.req.header('if-match')
  if (expected !== undefined && expected !== '*' && expected.replace(/^"|"$/g, '') !== status.version) {
    throw new HttpProblem(412, `Version ${status.version} is in force.`)
  }
  return { ...outcome, pushed: true, revision: await write(archive, document, parts) }
}

/**
 * A folder that is mounted read-only, or belongs to somebody else, is no fault of the daemon: operators can mend it.
 */
async function write(archive: PolicyArchive, document: unknown, { limiter }: ApiParts): Promise<number> {
  try {
    return await archive.push(document)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined || !['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'EBUSY'].includes(code)) throw error
    throw new HttpProblem(409, `The policy at ${limiter.policy.status.source} cannot be written: ${code}.`)
  }
}

function writable({ archive, limiter }: ApiParts): PolicyArchive {
  if (archive !== undefined) return archive
  throw new HttpProblem(409, `The policy comes from ${limiter.policy.status.source}, which cannot be written to.`)
}

async function versionOf(archive: PolicyArchive, revision: number): Promise<PolicyVersion> {
  const found = (await archive.history(maxVersions)).find((version) => version.revision === revision)
  if (found === undefined)
    throw new HttpProblem(404, `There is no revision ${revision} among the versions that are kept.`)
  return found
}
