import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { once } from './once.ts'

test('leaves no listener behind, however often one emitter is waited for', async () => {
  const emitter = new EventEmitter()
  const events = ['ready', 'close', 'end']
  const warnings: Error[] = []
  // Parts of other files in this process may warn, too.
  const warned = (warning: Error): void => {
    if (warning.name === 'MaxListenersExceededWarning') warnings.push(warning)
  }
  process.on('warning', warned)
  for (let i = 0; i < 50; i++) {
    const waiting = once(emitter, events)
    emitter.emit(events[i % 3]!)
    await waiting
  }
  // Warnings are emitted in a later turn.
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', warned)
  expect(emitter.eventNames()).toEqual([])
  expect(warnings).toEqual([])
})
