// The agent: stores an event for everything it does, and ships them when the collector can take them.
import { homedir, hostname } from 'node:os'
import { join } from 'node:path'
import { logTo, readEnv, runMain, SettingError } from 'example-service'
import { openAgent } from './open-agent.ts'

await runMain(async () => {
  const [env, log] = [readEnv(), logTo('event-pooler')]
  const endpoint = env.url('POOLER_ENDPOINT', 'use http://host:8450/api/v1/ai/pooler')
  // The variable that `sluice backpressure` reads too.
  const dir = env.text('SLUICE_SHIPPER_DIR', join(homedir(), '.event-pooler'))
  const agentId = env.text('AGENT_ID', hostname())
  if (!/^[\x21-\x7e]+$/.test(agentId))
    throw new SettingError(
      `AGENT_ID is ${JSON.stringify(agentId)}: use letters, digits and signs, as it is sent in a header`,
    )
  const everyMs = env.whole('EVENT_EVERY_MS', 1000, { least: 1 })
  const shipper = await openAgent({
    dir,
    endpoint,
    agentId,
    baseDelayMs: env.whole('BACKOFF_BASE_MS', 1000, { least: 1 }),
  })
  shipper.on('rejected', ({ id, reason }) => log('event_rejected', { id, reason }))
  shipper.on('turnedAway', ({ reason }) => log('turned_away', { reason }))
  shipper.on('failed', (fields) => log('flush_failed', fields))
  // A full disk: storing waits, and goes on when there is room.
  shipper.on('fullChanged', ({ isFull }) => log(isFull ? 'buffer_full' : 'buffer_has_room', { dir }))
  shipper.on('storageFailed', ({ what, error }) => log('storage_failed', { what, error: (error as Error).message }))
  log('started', { dir, endpoint, agentId })

  let isRunning = true
  let wake = (): void => undefined
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      isRunning = false
      wake()
    })
  for (let n = 0; isRunning; n++) {
    // Once this has resolved, the event survives a crash of the agent.
    log('stored', { id: await shipper.ship({ type: 'tool-call', n, ms: Math.round(Math.random() * 100) }) })
    await new Promise<void>((resolve) => {
      wake = resolve
      setTimeout(resolve, everyMs)
    })
  }
  const { pending } = await shipper.close()
  log('stopped', { pending, dir })
  process.exit(0)
})
