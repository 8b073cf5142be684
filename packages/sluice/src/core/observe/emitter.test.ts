import { describe, expect, it } from 'vitest'
import { Emitter } from './emitter.ts'

interface Events {
  one: { readonly n: number }
  two: { readonly text: string }
}

describe('Emitter', () => {
  it('calls every listener of an event in the order in which they were added', () => {
    const events = new Emitter<Events>()
    const seen: string[] = []
    events.on('one', ({ n }) => seen.push(`a${n}`))
    events.on('one', ({ n }) => seen.push(`b${n}`))
    events.on('two', ({ text }) => seen.push(text))
    events.emit('one', { n: 1 })
    expect(seen).toEqual(['a1', 'b1'])
  })

  it('refuses events that it was not told of, and listeners that cannot be called', () => {
    const events = new Emitter<Events>({ one: true, two: true })
    expect(() => events.on('onne' as never, () => {})).toThrow('on event is "onne"; did you mean "one"?')
    expect(() => events.on('one', undefined as never)).toThrow('on listener is undefined; pass a function')
  })

  it('knows which events have listeners, also after the last one was removed', () => {
    const events = new Emitter<Events>()
    expect(events.has('one')).toBe(false)
    const stop = events.on('one', () => {})
    expect([events.has('one'), events.has('two')]).toEqual([true, false])
    stop()
    stop()
    expect(events.has('one')).toBe(false)
  })

  it('goes on with the next listener when one throws, and lets the error surface', async () => {
    const events = new Emitter<Events>()
    const surfaced: unknown[] = []
    const before = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection')
    process.once('unhandledRejection', (error) => surfaced.push(error))
    try {
      let called = false
      events.on('one', () => {
        throw new Error('listener failed')
      })
      events.on('one', () => {
        called = true
      })
      expect(() => events.emit('one', { n: 1 })).not.toThrow()
      expect(called).toBe(true)
      await new Promise((resolve) => setImmediate(resolve))
      expect(surfaced).toEqual([new Error('listener failed')])
    } finally {
      for (const listener of before) process.on('unhandledRejection', listener)
    }
  })
})
