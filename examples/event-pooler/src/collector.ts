// A collector with your own code, whose load can be set by a request. `sluice collect` does the same without code, and
// uses the load of its process.
import { appendFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { answerErrors, logTo, readEnv, runMain, SettingError, serve } from 'example-service'
import express, { type Request } from 'express'
import { Registry } from 'prom-client'
import { createLimiter, type Decision, filePolicy, limiterMetrics, openPolicy } from 'sluice'
import { answering, capacityMetrics, createCapacity, createIngest } from 'sluice/capacity'
import { protect, rateLimit } from 'sluice/express'
import type { Denial } from 'sluice/http'
import { prometheusMetrics } from 'sluice/prometheus'

const path = '/api/v1/ai/pooler'

await runMain(async () => {
  const [env, log] = [readEnv(), logTo('event-collector')]
  const file = env.text('EVENTS_FILE', 'events.ndjson')
  await appendFile(file, '').catch((error) => {
    throw new SettingError(`EVENTS_FILE is ${file}: it cannot be written (${error.code})`)
  })
  const policyFile = env.text('POLICY_FILE', fileURLToPath(new URL('../sluice.yaml', import.meta.url)))
  const policy = await openPolicy(filePolicy(policyFile))
  const limiter = await createLimiter({ policy })
  // Unset, the load is that of the process.
  let percent = env.optional('LOAD_PERCENT') === undefined ? undefined : env.number('LOAD_PERCENT', 0, { most: 100 })
  const pretended = percent === undefined ? {} : { load: () => percent ?? 0, process: false }
  const capacity = await createCapacity({ policy, ...pretended })
  const ingest = await createIngest({
    accept: (events) => appendFile(file, events.map((event) => `${JSON.stringify(event)}\n`).join('')),
  })

  const app = express()
  app.use(express.json({ limit: '10mb' }))
  app.use(protect(answering(capacity, `${path}/capacity`)))
  // By what a batch really has, not by what its sender says.
  const context = ({ body }: Request) => ({ events: Array.isArray(body?.events) ? body.events.length : 1 })
  // 400 would say that the events are at fault, and an agent would set them aside.
  const onDenied = (denial: Denial<Decision>): Denial<Decision> =>
    denial.status === 400
      ? { ...denial, status: 403, body: JSON.stringify({ ...denial.problem, status: 403 }) }
      : denial
  app.post(path, rateLimit(limiter, { context, onDenied }), async (request, response) => {
    const { status, body } = await ingest.receive(request.body)
    response.status(status).json(body)
  })
  // Only where the load is pretended: for demonstrations and tests.
  if (percent !== undefined)
    app.post('/load', (request, response) => {
      const given = Number(request.query.percent)
      if (given >= 0 && given <= 100) percent = given
      response.json({ percent })
    })
  app.use(answerErrors)

  const registry = new Registry()
  const metrics = prometheusMetrics(registry, [limiterMetrics(limiter), capacityMetrics(capacity)])
  await serve({
    ...{ env, log, registry, port: 8450 },
    handler: app,
    ready: () => capacity.health(),
    async close() {
      metrics.close()
      await Promise.all([ingest.close(), capacity.close(), limiter.close()])
      await policy.close()
    },
  })
})
