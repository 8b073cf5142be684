import type { Egress } from 'sluice/egress'

/** What the proxy answers itself. */
export interface OwnPages {
  readonly egress: Egress
  readonly isEnding: () => boolean
  readonly metrics: { readonly contentType: string; text(): Promise<string> } | undefined
}

interface OwnPage {
  readonly status: number
  readonly type: string
  readonly text: string
}

/** The proxy's own answer to a GET: `/health`, `/ready` and `/metrics`. Undefined when the request is a call. */
export function ownPage({ egress, isEnding, metrics }: OwnPages, url: string): Promise<OwnPage> | undefined {
  if (url === '/health') return Promise.resolve(json(200, { ok: true }))
  if (url === '/ready') {
    return egress.health().then((health) => {
      const { ready, reasons, warnings } = isEnding() ? { ...health, ...ending } : health
      return json(ready ? 200 : 503, { ready, reasons, warnings })
    })
  }
  if (url !== '/metrics' || metrics === undefined) return undefined
  return metrics.text().then(
    (text) => ({ status: 200, type: metrics.contentType, text }),
    () => json(500, { title: 'the metrics cannot be read' }),
  )
}

const ending = { ready: false, reasons: ['The proxy is ending.'] }

function json(status: number, body: unknown): OwnPage {
  return { status, type: 'application/json', text: JSON.stringify(body) }
}
