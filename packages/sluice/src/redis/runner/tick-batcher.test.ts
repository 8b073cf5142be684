import { describe, expect, it, vi } from 'vitest'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { type TickBatch, TickBatcher, type TickBatcherOptions } from './tick-batcher.ts'

class Texts implements TickBatch<string, () => void> {
  readonly slot: number
  readonly withinMs: number
  readonly items: string[] = []
  readonly isEnoughToStart = false

  constructor(slot: number, withinMs: number) {
    this.slot = slot
    this.withinMs = withinMs
  }

  get isFull(): boolean {
    return this.items.length === 3
  }

  add(item: string): void {
    this.items.push(item)
  }
}

function start(gather?: NonNullable<TickBatcherOptions<Texts>['gather']>) {
  const sent: string[] = []
  const batcher = new TickBatcher<string, () => void, Texts>({
    make: (slot, withinMs) => new Texts(slot, withinMs),
    send: ({ slot, items }) => {
      sent.push(`${slot}: ${items.join()}`)
    },
    ...(gather && { gather }),
  })
  const add = (slot: number, item: string, withinMs = 500): void => batcher.add(slot, withinMs, item, () => {})
  return { batcher, add, sent }
}

describe('a tick batcher', () => {
  it('sends one batch for each slot, also when slots take turns', async () => {
    const { add, sent } = start()
    for (const [slot, item] of ['a', 'b', 'c', 'd', 'e'].entries()) add(slot % 3, item)
    expect(sent).toEqual([])
    await Promise.resolve()
    expect(sent.toSorted()).toEqual(['0: a,d', '1: b,e', '2: c'])
    add(1, 'f')
    await vi.waitFor(() => expect(sent.slice(3)).toEqual(['1: f']))
  })

  it('sends a full batch at once, and leaves those of other slots open', async () => {
    const { add, sent } = start()
    for (const item of ['a', 'b', 'c', 'd']) {
      add(7, item)
      add(8, item === 'a' ? 'x' : 'y', item === 'a' ? 500 : 400)
    }
    expect(sent, 'full, and of another deadline').toEqual(['8: x', '7: a,b,c', '8: y,y,y'])
    await vi.waitFor(() => expect(sent.slice(3)).toEqual(['7: d']))
  })

  it('has sent everything when it is drained', async () => {
    const { batcher, add, sent } = start()
    add(1, 'a')
    add(2, 'b')
    const drained = batcher.drain()
    expect(sent.toSorted()).toEqual(['1: a', '2: b'])
    batcher.ended()
    batcher.ended()
    await drained
  })

  it('gathers for as long as it is told, unless a batch is full or is sent at once', async () => {
    const clock = virtualClock()
    const { batcher, add, sent } = start({ ms: 1, clock })
    for (const item of ['a', 'b', 'c', 'd']) add(0, item)
    expect(sent).toEqual(['0: a,b,c'])
    await new Promise((resolve) => setImmediate(resolve))
    add(0, 'e')
    expect(sent).toHaveLength(1)
    await clock.advance(1)
    expect(sent.slice(1)).toEqual(['0: d,e'])
    add(0, 'f')
    batcher.flush()
    expect(sent.slice(2)).toEqual(['0: f'])
  })
})
