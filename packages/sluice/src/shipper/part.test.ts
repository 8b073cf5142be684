import { expect, test } from 'vitest'
import { processParts } from '../runtime/process-parts.ts'
import { modelFiles } from '../testing/shipper/model-files.ts'
import { createAppender } from './create-appender.ts'
import { createShipper } from './create-shipper.ts'
import type { SendResult } from './flush/transport.ts'
import type { ShipperOptions } from './options.ts'
import type { Shipper } from './shipper.ts'

function open(options: Partial<ShipperOptions> = {}): Promise<Shipper> {
  return createShipper({
    ...{ dir: '/var/buffer', fs: modelFiles(), flushInterval: false, send: async () => undefined },
    ...options,
  })
}

test('a server that fails is a warning, and none once it works again', async () => {
  let answer: SendResult = { status: 500, reason: 'out of order' }
  await using shipper = await open({ send: async () => answer, backoff: { base: 0 } })
  expect(await shipper.health()).toEqual({ ready: true, reasons: [], warnings: [] })
  await shipper.ship(1)
  await shipper.flush()
  const warnings = ['The last attempt to send failed: out of order; next in 0ms.']
  expect(await shipper.health()).toEqual({ ready: true, reasons: [], warnings })
  answer = {}
  await shipper.flush()
  expect(await shipper.health()).toEqual({ ready: true, reasons: [], warnings: [] })
})

test('a full buffer is not ready, and says what happens to events', async () => {
  await using shipper = await open({ maxBytes: 10_000, onFull: 'refuse' })
  for (let i = 0; i < 20; i++) await shipper.ship('x'.repeat(1000)).catch(() => undefined)
  expect(await shipper.health()).toMatchObject({
    ready: false,
    reasons: ['The buffer is full; events are refused.'],
  })
})

test('events that were set aside are a warning', async () => {
  const send = async (events: readonly { readonly id: string }[]): Promise<SendResult> => ({
    results: events.map(({ id }, i) => ({ id, status: i === 0 ? 'rejected' : 'ok' })),
  })
  await using shipper = await open({ send })
  await Promise.all([shipper.ship(1), shipper.ship(2)])
  await shipper.flush()
  const warnings = ['1 event was rejected by the server and set aside.']
  expect(await shipper.health()).toEqual({ ready: true, reasons: [], warnings })
})

test('operators can have it flush, and send again what was set aside', async () => {
  let isRefused = true
  const send = async (events: readonly { readonly id: string }[]): Promise<SendResult> => ({
    results: events.map(({ id }) => ({ id, status: isRefused ? 'rejected' : 'ok' })),
  })
  await using shipper = await open({ name: 'acted on', send })
  const { actions } = processParts().find(({ name }) => name === 'acted on')!
  await shipper.ship(1)
  expect(await actions!.flush!(undefined)).toBe('drained, 0 sent, 1 rejected')
  expect(await actions!.resend!(undefined)).toBe('done, 0 sent, 1 rejected')
  isRefused = false
  expect(await actions!.resend!(undefined)).toBe('done, 1 sent, 0 rejected')
  expect(await actions!.resend!(undefined)).toBe('done, 0 sent, 0 rejected')
})

test('is reported by its name, or that of its directory, until it is closed, and refuses events then', async () => {
  const others = new Set(processParts())
  const reported = () => processParts().filter((part) => part.kind === 'shipper' && !others.has(part))
  const shipper = await open()
  expect(reported().map(({ name, stats }) => [name, stats()])).toEqual([['buffer', shipper.stats()]])
  const other = await open({ name: 'clicks' })
  expect(reported().map(({ name }) => name)).toEqual(['buffer', 'clicks'])
  await other.close()
  await shipper.close()
  expect(reported()).toEqual([])
  expect(await shipper.health()).toEqual({ ready: false, reasons: ['The shipper is closed.'], warnings: [] })
  await expect(shipper.ship(1)).rejects.toMatchObject({
    code: 'SLUICE_CLOSED',
    message: 'The buffer is closed; open it again with createShipper or createAppender.',
  })
})

test('an event that does not exist is refused', async () => {
  await using shipper = await open()
  expect(() => shipper.on('storageFailure' as never, () => {})).toThrow('did you mean "storageFailed"')
})

test('durations of the backoff are checked by name', async () => {
  await expect(open({ backoff: { base: 'soon' } })).rejects.toThrow('createShipper.backoff.base is "soon"')
  await expect(open({ backoff: { baseMs: 5 } as never })).rejects.toThrow('did you mean "base"')
  await expect(open({ backoff: { jitter: 2 } })).rejects.toThrow('createShipper.backoff.jitter is 2')
})

test('an appender closes at the end of its block', async () => {
  const fs = modelFiles()
  {
    await using appender = await createAppender({ dir: '/var/buffer', fs })
    await appender.append(1)
  }
  await using shipper = await open({ fs })
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', sent: 1 })
})
