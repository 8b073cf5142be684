// A simple load generator for machines without wrk: keeps some connections busy for a while, then prints the number of
// answers.
import { Agent, get } from 'node:http'

const [url = '', ms = '', connections = ''] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: Number(connections) })
const endMs = performance.now() + Number(ms)
let requests = 0
let refused = 0

const ask = (): Promise<void> =>
  new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      requests++
      if ((response.statusCode ?? 0) >= 300) refused++
      response.resume().on('end', resolve)
    }).on('error', reject)
  })

async function keepAsking(): Promise<void> {
  while (performance.now() < endMs) await ask()
}

await Promise.all(Array.from({ length: Number(connections) }, keepAsking))
agent.destroy()
process.send?.({ requests, refused }, () => process.disconnect())
