import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { FileSystem, OpenFile } from '../files/file-system.ts'
import { nodeFiles } from '../files/node-files.ts'
import type { OutgoingEvent } from '../flush/transport.ts'
import { resendRejected } from '../resend-rejected.ts'
import { rejectedEvents } from '../testing/rejected-events.ts'
import { readRejected } from './rejected-lines.ts'

const [lines, lineBytes] = [60, 900_000]
const line = Buffer.alloc(lineBytes, ' ')
line.write('}\n', lineBytes - 2)

/** As much of the file as may be read before the first of its events is used. */
const fewBytes = 8 << 20
/** Up to where the file was read. */
let readTo = 0

/** A file of many megabytes, whose lines are made when they are read. */
const hugeFile: Pick<OpenFile, 'read' | 'size' | 'close'> = {
  async read(into, position) {
    readTo = Math.max(readTo, position + into.length)
    const target = Buffer.from(into.buffer, into.byteOffset, into.length)
    const end = Math.min(position + into.length, lines * lineBytes)
    for (let at = position; at < end; ) {
      const from = at % lineBytes
      const id = `aaaaaaaaaaaaaaaaaaaaaaaa-${1 + Math.floor(at / lineBytes)}`
      line.write(`{"id":"${id}","storedAt":1,"rejectedAt":2,"reason":"broken","data":1`.padEnd(100))
      at += line.copy(target, at - position, from, from + end - at)
    }
    return Math.max(0, end - position)
  },
  size: async () => lines * lineBytes,
  close: async () => {},
}

function setUp() {
  readTo = 0
  const dir = mkdtempSync(join(tmpdir(), 'sluice-huge-'))
  const name = 'rejected-000000000001.ndjson'
  writeFileSync(join(dir, name), '')
  const isHuge = (path: string) => /rejected-000000000001(-t[0-9a-f]+)?\.ndjson$/.test(path)
  const fs: FileSystem = {
    ...nodeFiles,
    open: async (path, mode) => (mode === 'read' && isHuge(path) ? (hugeFile as OpenFile) : nodeFiles.open(path, mode)),
  }
  return { dir, fs, files: () => readdirSync(dir).filter((file) => file.startsWith('rejected-')) }
}

test('rejected events are listed while their file is read, which may be longer than a string can be', async () => {
  const { dir, fs } = setUp()
  const ids = new Set<string>()
  for await (const { id } of readRejected(dir, { fs })) {
    ids.add(id)
    expect(readTo).toBeLessThan(ids.size * lineBytes + fewBytes)
  }
  expect(ids.size).toBe(lines)
})

test('they are sent again in the same way, and what is refused again stays', async () => {
  const { dir, fs, files } = setUp()
  const isRefused = (id: string) => /-(1|60)$/.test(id)
  let most = 0
  const send = async (events: readonly OutgoingEvent[]) => {
    if (most === 0) expect(readTo).toBeLessThan(fewBytes)
    most = Math.max(most, events.length)
    return {
      results: events.map(({ id }) => ({ id, status: isRefused(id) ? ('rejected' as const) : ('ok' as const) })),
    }
  }
  const capacity = async () => ({ ready: true, maxBatchSize: 1000, delayBetweenBatches: 0 })
  const report = await resendRejected({ dir, fs, send, capacity })
  expect(report).toMatchObject({ outcome: 'done', sent: lines - 2, rejected: 2 })
  // No batch of hundreds of megabytes either.
  expect(most).toBeLessThanOrEqual(10)
  expect(files()).toHaveLength(1)
  expect((await rejectedEvents(dir)).map(({ id }) => id.slice(25))).toEqual(['1', '60'])
})
