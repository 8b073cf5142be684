import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { breakerEventNames } from '../packages/sluice/src/breaker/events.ts'
import { cacheEventNames } from '../packages/sluice/src/cache/events.ts'
import { capacityEventNames } from '../packages/sluice/src/capacity/events.ts'
import { egressEventNames } from '../packages/sluice/src/egress/events.ts'
import { limiterEventNames } from '../packages/sluice/src/limiter/events.ts'
import { pipelineEventNames } from '../packages/sluice/src/pipeline/pipeline.ts'
import { presenceEventNames } from '../packages/sluice/src/presence/presence.ts'
import { shipperEventNames } from '../packages/sluice/src/shipper/flush/events.ts'

const page = readFileSync(join(import.meta.dirname, '..', 'docs', 'parts.md'), 'utf8')

it.each([
  ['limiter', limiterEventNames],
  ['egress', egressEventNames],
  ['cache', cacheEventNames],
  ['presence', presenceEventNames],
  ['shipper', shipperEventNames],
  ['capacity', capacityEventNames],
  ['breaker', breakerEventNames],
  ['pipeline', pipelineEventNames],
])('docs/parts.md lists the events of the %s', (part, names) => {
  const [, listed = ''] = new RegExp(`^\\| ${part} \\| (\`.*) \\|$`, 'm').exec(page) ?? []
  expect(listed.split(', ').map((name) => name.replaceAll('`', ''))).toEqual(Object.keys(names))
})

it.each(
  Object.entries({
    limiterEventNames,
    egressEventNames,
    cacheEventNames,
    presenceEventNames,
    shipperEventNames,
    capacityEventNames,
    breakerEventNames,
    pipelineEventNames,
  }),
)('%s say what happened: a participle is the end of every name', (_, names) => {
  const participle = /(ed|lost|lent|sent|hit|shed|written|[Ff]ellBack|[Pp]roofLost|swept|answeredLocally|turnedAway)$/
  expect(Object.keys(names).filter((name) => !participle.test(name))).toEqual([])
})
