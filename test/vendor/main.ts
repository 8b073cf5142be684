import { parseArgs } from 'node:util'
import { scenarios } from './scenarios.ts'

const help = `npm run test:vendor -- [options]
  --only <name>      run only scenarios whose name contains this; may be given several times
  --seconds <n>      how long each scenario runs (45)`

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

let failed = false
console.log('most in any second | rate per second, last 10 s | expected | arrivals | scenario')
for (const { name, run } of chosen) {
  const { most, rate, wanted, arrivals, wrong } = await run(Number(values.seconds) * 1000)
  const isSlow = rate < wanted
  const figures = [`${most}`, rate.toFixed(1), wanted.toFixed(1), `${arrivals}`]
  console.log(
    `${figures.join(' | ')} | ${name}${isSlow ? ' (SLOW)' : ''}${wrong.map((text) => ` WRONG: ${text}`).join('')}`,
  )
  failed ||= wrong.length > 0 || isSlow
}
process.exit(failed ? 1 : 0)
