// `npm run demo`: one agent and one collector through all load levels, kills and an outage, and then twenty agents
// after an outage. About a minute and a half.
import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cli, collectedIds, type RunningAgent, runAgent, runCollector, runSluiceCollect } from './processes.ts'
import { twentyAgents } from './twenty-agents.ts'

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const say = (text: string): void => console.log(`\n== ${text}`)
function sluice(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`sluice ${args.join(' ')} failed: ${stderr}`)
  return stdout.trimEnd()
}
const showStatus = (dir: string): void => console.log(sluice('backpressure', '--dir', dir))

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(0))
const home = mkdtempSync(join(tmpdir(), 'event-pooler-'))
const [dir, file] = [join(home, 'buffer'), join(home, 'collected.ndjson')]
const agents: RunningAgent[] = []
const port = 18_080
/** Everything runs at ten times the normal speed. */
const hurry = 10
const quick = { BACKOFF_BASE_MS: '250' }
const collector = await runCollector(port, file, hurry)
const { endpoint } = collector

function begin(): RunningAgent {
  const agent = runAgent(dir, endpoint, quick)
  agents.push(agent)
  return agent
}

say('an agent and a collector that is idle')
let agent = begin()
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
agent = begin()
await wait(8000)
showStatus(dir)

say('the collector is gone')
await collector.stop()
await wait(6000)
showStatus(dir)

say('twenty more agents store 300 events each, and then sluice collect takes its place')
const others = await twentyAgents(home, endpoint, 300)
const replacement = await runSluiceCollect(port, file)
const { events, tookMs } = await others.drained()
console.log(
  `their ${events} events were sent in ${(tookMs / 1000).toFixed(1)} s, where 100 events every 50 ms were declared for all`,
)
await agent.stop()
sluice('backpressure', '--dir', dir, '--reset=true')
sluice('shipper', 'flush', '--dir', dir, '--endpoint', endpoint, '--header', 'x-agent-id: demo')
showStatus(dir)
await others.close()
await replacement.stop()

const stored = new Set([...agents.flatMap((each) => each.acknowledged()), ...others.acknowledged])
const arrived = await collectedIds(file)
const collected = new Set(arrived)
const lost = [...stored].filter((id) => !collected.has(id)).length
say(
  `${stored.size} events acknowledged, ${collected.size} collected, ${lost} lost, ${arrived.length - collected.size} twice`,
)
process.exitCode = lost === 0 ? 0 : 1
