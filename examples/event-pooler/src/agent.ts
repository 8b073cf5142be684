// The agent: stores an event for everything it does, and ships them when the collector can take them.
//
//   npm run agent -- --dir buffer --endpoint http://127.0.0.1:8080/v1/events
import { parseArgs } from 'node:util'
import { openAgent } from './open-agent.ts'

const { values } = parseArgs({
  options: {
    dir: { type: 'string', default: 'buffer' },
    endpoint: { type: 'string', default: 'http://127.0.0.1:8080/v1/events' },
    'every-ms': { type: 'string', default: '20' },
    'backoff-ms': { type: 'string', default: '2000' },
  },
})
const shipper = await openAgent(values.dir, values.endpoint, Number(values['backoff-ms']))
shipper.on('rejected', ({ id, reason }) => console.error(`${id} was set aside: ${reason}`))
shipper.on('turnedAway', ({ reason }) => console.error(`the collector turns us away: ${reason}`))

let running = true
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    running = false
  })
for (let n = 0; running; n++) {
  // Once this has resolved, the event survives a crash of the agent.
  console.log(await shipper.ship({ type: 'tool-call', n, ms: Math.round(Math.random() * 100) }))
  await new Promise((resolve) => setTimeout(resolve, Number(values['every-ms'])))
}
const { pending } = await shipper.close()
console.error(`${pending} events wait in ${values.dir}`)
