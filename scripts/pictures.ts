// Draws docs/pictures: what the algorithms, egress and the shipper do, with the real ones, and how parts work
// together. `--check` only compares.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { algorithmPictures } from './pictures/algorithms.ts'
import { cachePicture } from './pictures/cache.ts'
import { decisionPicture } from './pictures/decision.ts'
import { egressPicture } from './pictures/egress.ts'
import { pipelinePicture } from './pictures/pipeline.ts'
import { shipperPicture } from './pictures/shipper.ts'

const folder = join(import.meta.dirname, '..', 'docs', 'pictures')
const pictures = {
  ...(await algorithmPictures()),
  decision: decisionPicture(),
  'egress-log': await egressPicture(),
  'cache-invalidation': cachePicture(),
  'shipper-log': await shipperPicture(),
  pipeline: pipelinePicture(),
}
const files = new Map(Object.entries(pictures).map(([name, svg]) => [`${name}.svg`, svg]))

mkdirSync(folder, { recursive: true })
const left = readdirSync(folder).filter((name) => !files.has(name))
if (process.argv.includes('--check')) {
  const there = readdirSync(folder)
  const isStale = ([name, svg]: [string, string]): boolean =>
    !there.includes(name) || readFileSync(join(folder, name), 'utf8') !== svg
  const stale = [...files].filter(isStale).map(([name]) => name)
  if (stale.length + left.length > 0) {
    console.error(`docs/pictures is not current: ${[...stale, ...left].join(', ')}; run npm run generate`)
    process.exitCode = 1
  }
} else {
  for (const name of left) rmSync(join(folder, name))
  for (const [name, svg] of files) writeFileSync(join(folder, name), svg)
}
