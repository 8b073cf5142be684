// A service whose every answer takes some milliseconds of the processor. Prints its port, and exits with its parent.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createCapacity, shedding } from 'sluice/capacity'
import { protect } from 'sluice/node'

const workMs = 5
const handler = (_: unknown, response: { end(text: string): void }): void => {
  // Processor time, not wall-clock time: on a busy machine the latter costs nothing while the process has to wait.
  const before = process.cpuUsage()
  for (let used = process.cpuUsage(before); used.user + used.system < workMs * 1000; ) used = process.cpuUsage(before)
  response.end('ok')
}
const listener =
  process.argv[2] === 'true' ? protect(shedding(await createCapacity()), handler as never) : (handler as never)
const server = createServer(listener as never)
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
process.stdin.on('end', () => process.exit()).resume()
