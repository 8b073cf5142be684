import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createAppender, createShipper, inspectBuffer, pendingEvents, repairBuffer, verifyBuffer } from '../index.ts'

async function buffer(events = 40): Promise<{ dir: string; ids: string[] }> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-inspect-'))
  const appender = await createAppender({ dir, segmentBytes: 4096 })
  const ids: string[] = []
  for (let n = 0; n < events; n++) ids.push(await appender.append({ n, text: 'x'.repeat(200) }))
  await appender.close()
  return { dir, ids }
}

async function ship(dir: string): Promise<string[]> {
  const got: string[] = []
  const send = async (events: readonly { id: string }[]) => void got.push(...events.map(({ id }) => id))
  const shipper = await createShipper({ dir, flushInterval: false, send })
  await shipper.flush()
  await shipper.close()
  return got
}

/** Flips a byte in the middle of a segment. */
function harm(dir: string, index: number): void {
  const file = join(
    dir,
    readdirSync(dir)
      .filter((name) => name.endsWith('.seg'))
      .sort()[index]!,
  )
  const bytes = readFileSync(file)
  bytes[600] = bytes[600]! ^ 0xff
  writeFileSync(file, bytes)
}

test('shows segments, pending events and the owner without changing anything', async () => {
  const { dir, ids } = await buffer()
  const before = readdirSync(dir)
  const report = await inspectBuffer(dir)
  expect(report).toMatchObject({ pending: 40, owner: null })
  expect(report.segments.length).toBeGreaterThan(1)
  const events: string[] = []
  for await (const { id } of pendingEvents(dir, report.segments)) events.push(id)
  expect(events).toEqual(ids)
  expect(readdirSync(dir)).toEqual(before)
  const owner = await createShipper({ dir, flushInterval: false, send: async () => undefined })
  expect((await inspectBuffer(dir)).owner).toMatchObject({ isActive: true, pid: process.pid, epoch: 1 })
  await owner.close()
  expect((await inspectBuffer(dir)).owner).toMatchObject({ isActive: false })
})

test('verify finds what is damaged and counts what is lost', async () => {
  const { dir } = await buffer()
  expect(await verifyBuffer(dir)).toMatchObject({ events: 40, lost: 0, damage: [] })
  harm(dir, 1)
  const { events, lost, damage } = await verifyBuffer(dir)
  expect({ events, lost, damage: damage.length }).toEqual({ events: 39, lost: 1, damage: 1 })
})

test('repair rewrites damaged segments, keeps the bytes, and everything else is shipped once and in order', async () => {
  const { dir, ids } = await buffer()
  harm(dir, 0)
  harm(dir, 2)
  const report = await repairBuffer(dir)
  expect(report).toMatchObject({ repaired: [expect.any(String), expect.any(String)], lost: 2 })
  expect(report.saved).toHaveLength(2)
  expect(await verifyBuffer(dir)).toMatchObject({ events: 38, damage: [] })
  const got = await ship(dir)
  expect(got).toHaveLength(38)
  expect(got).toEqual(ids.filter((id) => got.includes(id)))
})

test('repair of a segment that was shipped in part ships the rest once', async () => {
  const { dir, ids } = await buffer()
  let left = 1
  const got: string[] = []
  const shipper = await createShipper({
    dir,
    flushInterval: false,
    maxBatchEvents: 5,
    send: async (events) => {
      if (left-- <= 0) throw new Error('down')
      got.push(...events.map(({ id }) => id))
    },
  })
  await shipper.flush()
  await shipper.close()
  expect(got).toHaveLength(5)
  const { oldestMs, pending, segments } = await inspectBuffer(dir)
  expect(pending).toBe(35)
  expect(oldestMs).toBeGreaterThanOrEqual(segments[0]!.createdMs)
  expect(oldestMs).toBeLessThanOrEqual(Date.now())
  const file = join(
    dir,
    readdirSync(dir)
      .filter((name) => name.endsWith('.seg'))
      .sort()[0]!,
  )
  const bytes = readFileSync(file)
  bytes[bytes.length - 300] = bytes[bytes.length - 300]! ^ 0xff
  writeFileSync(file, bytes)
  await repairBuffer(dir)
  writeFileSync(join(dir, '.backpressure-state'), '{"backoffLevel":0}')
  got.push(...(await ship(dir)))
  expect(got).toHaveLength(39)
  expect(got).toEqual(ids.filter((id) => got.includes(id)))
})

test('repair refuses while a shipper owns the buffer', async () => {
  const { dir } = await buffer()
  const shipper = await createShipper({ dir, flushInterval: false, send: async () => undefined })
  await expect(repairBuffer(dir)).rejects.toMatchObject({ code: 'SLUICE_WRONG_USE' })
  await shipper.close()
})
