// The long kill run: `npm run test:kill -- [kills]`. Exits with 1 if anything acknowledged is missing.
import { runKills } from './run.ts'

const kills = Number(process.argv[2] ?? 1000)
const started = performance.now()
const { missing, ...result } = await runKills(kills, 'build', (done) => {
  if (done % 50 === 0) process.stderr.write(`${done} of ${kills} killed\n`)
})
const bound = result.kills * result.batch
console.log({
  ...result,
  missing: missing.length,
  duplicatesAtMost: bound,
  seconds: (performance.now() - started) / 1000,
})
if (missing.length > 0 || result.lost > 0 || result.duplicates > bound) {
  console.error('missing:', missing.slice(0, 20))
  process.exitCode = 1
}
