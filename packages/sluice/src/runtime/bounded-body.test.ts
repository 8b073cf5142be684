import { expect, test } from 'vitest'
import { readBounded } from './bounded-body.ts'

const bodyOf = (...chunks: string[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
      controller.close()
    },
  })
const textOf = (bytes: Uint8Array | undefined) => bytes && new TextDecoder().decode(bytes)

test('a body of exactly as many bytes as allowed is read whole, in any number of chunks', async () => {
  expect(textOf(await readBounded(bodyOf('ab', 'c', '', 'd'), 4))).toBe('abcd')
  expect(textOf(await readBounded(null, 4))).toBe('')
})

test('a body with one byte more is not read any further', async () => {
  let cancelled = false
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(3)),
    cancel() {
      cancelled = true
    },
  })
  expect(await readBounded(endless, 8)).toBeUndefined()
  expect(cancelled).toBe(true)
})
