import { parseArgs } from 'node:util'
import type { Finding } from './judge.ts'
import { scenarios } from './scenarios.ts'

const help = `npm run test:vendor -- [options]
  --only <name>      run only scenarios whose name contains this; may be given several times
  --seconds <n>      how long each scenario runs (45; all of them take about 40 minutes)`

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    seconds: { type: 'string', default: '45' },
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

interface Row extends Partial<Finding> {
  readonly name: string
  readonly wrong: readonly string[]
}

const rows: Row[] = []
const seconds = Number(values.seconds)
for (const [at, { name, run }] of chosen.entries()) {
  process.stderr.write(`${at + 1} of ${chosen.length}, ${seconds} s: ${name}\n`)
  try {
    const found = await run(seconds * 1000)
    const slow = found.rate < found.wanted ? [`slow: ${found.rate.toFixed(1)} of ${found.wanted.toFixed(1)}`] : []
    rows.push({ name, ...found, wrong: [...found.wrong, ...(found.late ?? []), ...slow] })
  } catch (error) {
    // The others still run; one that could not be judged has not passed.
    rows.push({ name, wrong: [`not judged: ${error}`] })
  }
}

const head = ['scenario', 'most in any period', 'allowed', 'rate per period', 'expected', 'arrivals', '']
const table = rows.map(({ name, most, bound, rate, wanted, arrivals, wrong }) => [
  name,
  ...[most, bound, rate?.toFixed(1), wanted?.toFixed(1), arrivals].map((value) => String(value ?? '-')),
  wrong.length === 0 ? 'ok' : `WRONG ${wrong.join('; ')}`,
])
const widths = head.map((_, column) => Math.max(...[head, ...table].map((row) => row[column]!.length)))
for (const row of [head, ...table])
  console.log(
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
const failed = rows.filter(({ wrong }) => wrong.length > 0).length
console.log(`${rows.length - failed} of ${rows.length} scenarios hold; rates are those of the last 10 s of each`)
process.exit(failed === 0 ? 0 : 1)
