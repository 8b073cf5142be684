// Moves records that are made up on the way, and prints the resident memory after some and after ten times as many.
import { createPipeline } from 'sluice/pipeline'

const records = Number(process.argv[2])

async function* generated(): AsyncGenerator<{ id: number; text: string }> {
  for (let id = 0; id < records * 10; id++) yield { id, text: `record ${id}` }
}

function resident(): number {
  for (let i = 0; i < 3; i++) globalThis.gc?.()
  return process.memoryUsage().rss
}

let [seen, after] = [0, 0]
const pipeline = await createPipeline({
  name: 'memory',
  source: generated,
  sink: async ({ records: batch }) => {
    seen += batch.length
    if (seen >= records && after === 0) after = resident()
  },
})
await pipeline.run()
console.log(JSON.stringify({ first: after, last: resident() }))
await pipeline.close()
