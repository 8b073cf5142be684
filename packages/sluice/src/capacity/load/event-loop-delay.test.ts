import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { createCapacity } from '../create-capacity.ts'
import { eventLoopDelay } from './event-loop-delay.ts'

const opened: (() => unknown)[] = []
afterEach(async () => {
  for (const close of opened.splice(0)) await close()
})

function block(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

/** Lets timers fire that are due. */
async function turns(ms: number): Promise<void> {
  for (const end = performance.now() + ms; performance.now() < end; ) await turn()
}

test.each([60, 150, 240, 300, 1000])('a turn of %i ms right after a reading is seen by the next one', async (ms) => {
  const delay = eventLoopDelay()
  opened.push(delay.stop)
  await turns(50)
  delay.read()
  block(ms)
  await turns(Math.max(20, 250 - ms))
  expect(delay.read()).toBeGreaterThan(ms - 25)
})

test('an idle loop has less delay than one that is blocked for a moment', async () => {
  const delay = eventLoopDelay()
  opened.push(delay.stop)
  const idle: number[] = []
  for (let n = 0; n < 5; n++) {
    delay.read()
    await turns(100)
    idle.push(delay.read())
  }
  block(500)
  await turns(50)
  // The least: the machine may be busy with something else.
  expect(Math.min(...idle)).toBeLessThan(delay.read() / 2)
})

test('a loop whose turns all take longer than a sample is fully loaded', async () => {
  const capacity = await createCapacity()
  opened.push(() => capacity.close())
  const seen: string[] = []
  capacity.on('measured', ({ rawPercent, cause }) => seen.push(`${rawPercent} ${cause.replace(/\d+ ms/, 'ms')}`))
  for (let n = 0; n < 6; n++) {
    block(300)
    await turns(1)
  }
  expect(seen.length).toBeGreaterThan(3)
  expect(new Set(seen)).toEqual(new Set(['100 event loop delay ms']))
})
