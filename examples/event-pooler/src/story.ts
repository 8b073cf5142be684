// One agent and one collector through everything that can happen, and then twenty agents after an outage. About a
// minute.
import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunningAgent, runAgent, runCollector } from './processes.ts'

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const say = (text: string): void => console.log(`\n== ${text}`)
const cli = join(import.meta.dirname, '..', '..', '..', 'packages', 'server', 'dist', 'cli.js')
const showStatus = (dir: string): void => {
  const { stdout } = spawnSync(process.execPath, [cli, 'shipper', 'status', '--dir', dir], { encoding: 'utf8' })
  console.log(stdout.trimEnd())
}

const home = mkdtempSync(join(tmpdir(), 'event-pooler-'))
const dir = join(home, 'buffer')
const stored: ReadonlySet<string>[] = []
const port = 18_080
/** Everything runs ten times as fast as it would. */
const hurry = 10
let collector = await runCollector(port, hurry)
const { endpoint } = collector
/** What collectors of the past have taken: each begins anew, as one without a database would. */
const collected = new Set<string>()
let duplicates = 0

async function remember(): Promise<void> {
  const seen = await collector.ids()
  for (const id of seen.ids) {
    if (collected.has(id)) duplicates++
    collected.add(id)
  }
  duplicates += seen.duplicates
}

function begin(where: string, more: readonly string[] = []): RunningAgent {
  const agent = runAgent(where, endpoint, more)
  stored.push(agent.acknowledged)
  return agent
}

say('an agent and a collector that is idle')
let agent = begin(dir, ['--backoff-ms', '500'])
await wait(4000)
showStatus(dir)

for (const load of [50, 70, 90, 97]) {
  say(`the collector is at ${load}%`)
  await collector.load(load)
  await wait(6000)
  showStatus(dir)
}

say('the agent is killed and started again; the collector is idle again')
await agent.kill()
await collector.load(10)
agent = begin(dir, ['--backoff-ms', '500'])
await wait(5000)
showStatus(dir)

say('the collector is gone')
await remember()
await collector.stop()
await wait(6000)
showStatus(dir)

say('it is back, and with it twenty agents that have stored events meanwhile')
const others = Array.from({ length: 20 }, (_, i) =>
  begin(join(home, `agent-${i}`), ['--every-ms', '100', '--backoff-ms', '500']),
)
await wait(4000)
collector = await runCollector(port, hurry)
await wait(15_000)
for (const each of [agent, ...others]) await each.stop()
for (const where of [dir, ...others.map((_, i) => join(home, `agent-${i}`))]) {
  spawnSync(process.execPath, [cli, 'shipper', 'status', '--dir', where, '--reset'])
  spawnSync(process.execPath, [cli, 'shipper', 'flush', '--dir', where, '--endpoint', endpoint])
}
showStatus(dir)
await remember()
await collector.stop()

const acknowledged = new Set(stored.flatMap((ids) => [...ids]))
const missing = [...acknowledged].filter((id) => !collected.has(id))
say(
  `${acknowledged.size} events acknowledged, ${collected.size} collected, ${missing.length} lost, ${duplicates} sent twice`,
)
process.exitCode = missing.length === 0 ? 0 : 1
