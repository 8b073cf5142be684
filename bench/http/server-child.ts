// One server in a separate process; sends its port, and then, on request, the CPU time it has used.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { startExpress } from './frameworks/express.ts'
import { startFastify } from './frameworks/fastify.ts'
import { startHono } from './frameworks/hono.ts'
import type { ServerSpec } from './spec.ts'

const frameworks = { fastify: startFastify, express: startExpress, hono: startHono }

const spec = JSON.parse(process.argv[2] ?? '') as ServerSpec
const server = await frameworks[spec.framework](spec)
if (!server.listening) await once(server, 'listening')
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpuUs: user + system })
})
process.on('disconnect', () => process.exit())
process.send?.({ port: (server.address() as AddressInfo).port })
