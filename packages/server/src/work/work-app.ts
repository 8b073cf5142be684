import { Hono } from 'hono'
import type { Registry } from 'prom-client'
import type { Pipeline } from 'sluice/pipeline'
import type { NodeEnv } from '../http/access/access.ts'
import { HttpProblem, problemResponse } from '../http/problem.ts'
import { readiness } from '../http/ready.ts'

/** The HTTP side of a worker: probes, metrics, and how its pipelines stand. */
export function workApp(pipelines: readonly Pipeline[], isEnding: () => boolean, registry: Registry): Hono<NodeEnv> {
  const app = new Hono<NodeEnv>()
  app.notFound((c) => problemResponse(new HttpProblem(404, `There is no ${c.req.method} ${c.req.path}.`)))
  // By progress: a worker that hangs is restarted, however well it answers.
  app.get('/health', async (c) => {
    const running = pipelines.filter((pipeline) => pipeline.stats().state === 'running')
    const { ready, reasons } = await readiness(false, ...running.map((pipeline) => pipeline.health()))
    return c.json({ ok: ready, reasons }, ready ? 200 : 503)
  })
  app.get('/ready', async (c) => {
    const answer = await readiness(isEnding(), ...pipelines.map((pipeline) => pipeline.health()))
    return c.json(answer, answer.ready ? 200 : 503)
  })
  app.get('/metrics', async (c) => c.text(await registry.metrics(), 200, { 'content-type': registry.contentType }))
  app.get('/stats', (c) =>
    c.json({ pipelines: pipelines.map((pipeline) => ({ name: pipeline.name, ...pipeline.stats() })) }),
  )
  return app
}
