import { expect, test } from 'vitest'
import { crashModes, type ModelFiles, modelFiles } from '../../testing/shipper/model-files.ts'
import { createShipper } from '../create-shipper.ts'
import { thisProcess } from '../owner/process-identity.ts'
import { resendRejected } from '../resend-rejected.ts'
import { rejectedEvents } from '../testing/rejected-events.ts'
import { dropRejected } from './take-rejected.ts'

type Result = { id: string; status: 'ok' | 'rejected' | 'duplicate'; reason: string }

/** A server that refuses the events that a test chooses. */
function server(refuses: (data: { n: number }) => string | undefined) {
  const got: string[] = []
  const send = async (events: readonly { id: string; data: unknown }[]) => {
    const results = events.map(({ id, data }): Result => {
      const reason = refuses(data as { n: number })
      if (reason === undefined) got.push(id)
      return { id, status: reason === undefined ? 'ok' : 'rejected', reason: reason ?? '' }
    })
    return { results }
  }
  return { got, port: { send, capacity: async () => ({ ready: true, maxBatchSize: 10, delayBetweenBatches: 0 }) } }
}

const odd = ({ n }: { n: number }) => (n % 2 === 1 ? `field ${n} is unknown` : undefined)

/** A buffer whose server has refused the odd ones of so many events. */
async function filled(count: number, fs: ModelFiles = modelFiles()) {
  const dead = { ...thisProcess(), pid: 5_000_000, started: 1 }
  const refusing = server(odd)
  const shipper = await createShipper({ dir: '/buffer', fs, flushInterval: false, identity: dead, ...refusing.port })
  const ids = await Promise.all(Array.from({ length: count }, (_, n) => shipper.ship({ n })))
  await shipper.flush()
  return { fs, shipper, refused: ids.filter((_, n) => n % 2 === 1), options: { dir: '/buffer', fs } }
}

const idsOf = async (fs: ModelFiles) => (await rejectedEvents('/buffer', { fs })).map(({ id }) => id)

test('rejected events are listed with the reason and their contents', async () => {
  const { fs, refused, shipper } = await filled(10)
  const events = await rejectedEvents('/buffer', { fs })
  expect(events.map(({ id }) => id)).toEqual(refused)
  expect(events[1]).toMatchObject({ reason: 'field 3 is unknown', data: { n: 3 }, storedAt: expect.any(Number) })
  await shipper.close()
})

test('they are sent again under their old ids, and those that the server accepts are removed', async () => {
  const { fs, refused, options, shipper } = await filled(30)
  const mended = server(({ n }) => (n === 7 ? 'still unknown' : undefined))
  expect(await resendRejected({ ...options, ...mended.port })).toEqual({
    ...{ outcome: 'done', sent: 14, duplicates: 0, rejected: 1 },
  })
  expect(mended.got.sort()).toEqual(refused.filter((id) => !id.endsWith('-8')).sort())
  expect(await rejectedEvents('/buffer', { fs })).toMatchObject([{ data: { n: 7 }, reason: 'still unknown' }])
  await shipper.close()
})

test('a server that is not ready, or fails, changes nothing', async () => {
  const { fs, refused, options, shipper } = await filled(10)
  const away = { ...server(() => undefined).port, send: () => Promise.reject(new Error('connection refused')) }
  expect(await resendRejected({ ...options, ...away })).toMatchObject({ outcome: 'stopped', sent: 0 })
  const full = { ...server(() => undefined).port, capacity: async () => ({ ready: false }) }
  expect(await resendRejected({ ...options, ...full })).toMatchObject({ outcome: 'stopped', sent: 0 })
  expect((await idsOf(fs)).sort()).toEqual([...refused].sort())
  await shipper.close()
})

test('some can be chosen, to be sent or dropped', async () => {
  const { fs, options, shipper } = await filled(10)
  const mended = server(() => undefined)
  const choose = ({ reason }: { reason: string }) => reason.includes('field 3')
  expect(await resendRejected({ ...options, ...mended.port, choose })).toMatchObject({ sent: 1 })
  expect(await dropRejected('/buffer', ({ reason }) => reason.includes('field 5'), { fs })).toBe(1)
  expect((await rejectedEvents('/buffer', { fs })).map(({ data }) => (data as { n: number }).n).sort()).toEqual([
    1, 7, 9,
  ])
  expect(await dropRejected('/buffer', () => true, { fs })).toBe(3)
  expect(await idsOf(fs)).toEqual([])
  await shipper.close()
})

test('a shipper that keeps rejecting loses no event while others take its files over', async () => {
  const { fs, refused, shipper } = await filled(10)
  expect(await dropRejected('/buffer', () => false, { fs })).toBe(0)
  for (let round = 0; round < 5; round++) {
    const stored = await Promise.all([1, 2, 3].map((n) => shipper.ship({ n })))
    const [, report] = await Promise.all([dropRejected('/buffer', () => false, { fs }), shipper.flush()])
    expect(report.rejected).toBe(2)
    refused.push(stored[0]!, stored[2]!)
  }
  expect((await idsOf(fs)).sort()).toEqual([...refused].sort())
  await shipper.close()
})

test('a crash at any step of sending again leaves each event with the server or in a file', async () => {
  const { fs: intact, refused } = await filled(12)
  for (const mode of crashModes) {
    for (let step = 0; ; step++) {
      const fs = intact.afterCrash('keep')
      const mended = server(({ n }) => (n === 5 ? 'still unknown' : undefined))
      fs.crashAt = step
      const ended = await resendRejected({ dir: '/buffer', fs, ...mended.port }).then(
        () => true,
        () => false,
      )
      let state = step
      const random = () => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
        return state / 2 ** 32
      }
      const kept = new Set([...(await idsOf(fs.afterCrash(mode, random))), ...mended.got])
      expect({ mode, step, missing: refused.filter((id) => !kept.has(id)) }).toEqual({ mode, step, missing: [] })
      if (ended) break
    }
  }
})
