import { parseArgs } from 'node:util'
import { type Context, type Row } from './scenario.ts'
import { scenarios } from './scenarios.ts'
import { formatTable } from './table.ts'

const help = `npm run test:chaos -- [options]
  --only <name>    run only scenarios whose name contains this; may be given several times
  --cycles <n>     failovers per kind of failure (20)
  --scale <x>      shorten or lengthen the faults (1)
  --list           name the scenarios`

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    cycles: { type: 'string', default: '20' },
    scale: { type: 'string', default: '1' },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const chosen = scenarios.filter(
  ({ name }) => values.only === undefined || values.only.some((part) => name.includes(part)),
)
if (values.help || chosen.length === 0) {
  console.log(help)
  console.log(`scenarios: ${scenarios.map(({ name }) => name).join(', ')}`)
  process.exit(values.help ? 0 : 2)
}
if (values.list) {
  for (const { name } of chosen) console.log(name)
  process.exit(0)
}

const startMs = performance.now()
const stamp = (): string => `${((performance.now() - startMs) / 1000).toFixed(0).padStart(4)} s`
const rejections: unknown[] = []
process.on('unhandledRejection', (reason) => rejections.push(reason))

const context: Context = {
  cycles: Number(values.cycles),
  scale: Number(values.scale),
  judgeTime: true,
  progress: (text) => console.error(`${stamp()}  ${text}`),
}
const rows: Row[] = []
let failed = false
for (const scenario of chosen) {
  try {
    const found = await scenario.run(context)
    rows.push(...found)
    for (const { fault, wrong } of found) if (wrong.length > 0) context.progress(`WRONG: ${fault}: ${wrong.join(', ')}`)
  } catch (error) {
    failed = true
    console.error(`${stamp()}  ${scenario.name} could not be run to its end:`, error)
  }
}
console.log(formatTable(rows))
const wrong = rows.filter((row) => row.wrong.length > 0)
for (const reason of rejections) console.error('unhandled rejection:', reason)
const decisions = rows.reduce((sum, row) => sum + row.decisions, 0)
console.log(
  `\n${rows.length} faults, ${decisions} decisions, ${wrong.length} wrong, ${rejections.length} unhandled rejections, ${stamp().trim()}`,
)
// Anything that would keep the process alive here is a bug of this program; the tests of close() look for such bugs.
process.exit(failed || wrong.length > 0 || rejections.length > 0 ? 1 : 0)
