import type { Egress } from 'sluice/egress'
import { HttpProblem, problemAnswer } from '../http/problem.ts'
import { readiness } from '../http/ready.ts'

/** What the proxy answers itself. */
export interface OwnPages {
  readonly egress: Egress
  readonly isEnding: () => boolean
  readonly metrics: { readonly contentType: string; text(): Promise<string> } | undefined
}

interface OwnPage {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The proxy's own answer to a GET: `/health`, `/ready` and `/metrics`. Undefined when the request is a call. */
export function ownPage({ egress, isEnding, metrics }: OwnPages, url: string): Promise<OwnPage> | undefined {
  if (url === '/health') return Promise.resolve(json(200, { ok: true }))
  if (url === '/ready')
    return readiness(isEnding(), egress.health()).then((health) => json(health.ready ? 200 : 503, health))
  if (url !== '/metrics' || metrics === undefined) return undefined
  return metrics.text().then(
    (body) => ({ status: 200, headers: { 'content-type': metrics.contentType }, body }),
    () => problemAnswer(new HttpProblem(500, 'The metrics cannot be read.')),
  )
}

function json(status: number, body: unknown): OwnPage {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}
