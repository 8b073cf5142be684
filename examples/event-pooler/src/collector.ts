// A collector with your own code, whose load is set by a request. `sluice collect` uses the load of its process.
//
//   npm run collector -- --port 8080
//   curl -X POST 'http://127.0.0.1:8080/load?percent=85'     pretend to be busy
import { once } from 'node:events'
import { appendFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import express from 'express'
import { answering, createCapacity, createIngest } from 'sluice/capacity'
import { protect } from 'sluice/express'
import { loadTable } from './load-table.ts'

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '8080' },
    file: { type: 'string', default: 'collected.ndjson' },
    hurry: { type: 'string', default: '1' },
  },
})
let percent = 10
const capacity = await createCapacity({ ...loadTable(Number(values.hurry)), load: () => percent, process: false })
const ingest = await createIngest({
  accept: (events) => appendFile(values.file, events.map((event) => `${JSON.stringify(event)}\n`).join('')),
})

const app = express()
app.use(express.json({ limit: '10mb' }))
app.use(protect(answering(capacity, '/v1/events/capacity')))
app.post('/v1/events', async (request, response) => {
  const { status, body } = await ingest.receive(request.body)
  response.status(status).json(body)
})
app.post('/load', (request, response) => {
  percent = Number(request.query.percent)
  response.json({ percent })
})
const server = app.listen(Number(values.port), '127.0.0.1')
await once(server, 'listening')
console.log(`collecting at http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/events`)
