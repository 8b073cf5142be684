// The collector: takes batches, drops what it knows by id, and says how much it can take.
//
//   npm run collector -- --port 8080
//   curl -X POST 'http://127.0.0.1:8080/load?percent=85'     pretend to be busy
import { parseArgs } from 'node:util'
import { startCollector } from 'sluice/testing'
import { capacityAt } from './load-table.ts'

const { values } = parseArgs({
  options: { port: { type: 'string', default: '8080' }, hurry: { type: 'string', default: '1' } },
})
const hurry = Number(values.hurry)
const collector = await startCollector({ port: Number(values.port) })
collector.capacity = capacityAt(10, hurry)
collector.intercept = ({ path }, response) => {
  const { pathname, searchParams } = new URL(path, collector.url)
  if (pathname === '/load') {
    collector.capacity = capacityAt(Number(searchParams.get('percent')), hurry)
    response.end(`${JSON.stringify(collector.capacity)}\n`)
  } else if (pathname === '/ids') {
    response.end(JSON.stringify({ ids: [...collector.events.keys()], duplicates: collector.duplicates }))
  } else return false
  return true
}
console.log(`collecting at ${collector.url}`)
