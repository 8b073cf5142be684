import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { FileSystem, OpenFile } from '../files/file-system.ts'
import { nodeFiles } from '../files/node-files.ts'
import type { OutgoingEvent } from '../flush/transport.ts'
import { resendRejected } from '../resend-rejected.ts'
import { readRejected, rejectedEvents } from './rejected-events.ts'

const [lines, lineBytes] = [600, 900_000]
const line = Buffer.alloc(lineBytes, ' ')
line.write('}\n', lineBytes - 2)

/** A file of more bytes than a string can have; its lines are made when they are read. */
const hugeFile: Pick<OpenFile, 'read' | 'size' | 'close'> = {
  async read(into, position) {
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

test('a file of rejected events that is longer than a string can be is listed', { timeout: 60_000 }, async () => {
  const { dir, fs } = setUp()
  const ids = new Set<string>()
  for await (const { id } of readRejected(dir, { fs })) ids.add(id)
  expect(ids.size).toBe(lines)
})

test('it can be sent again, and what is refused again stays', { timeout: 60_000 }, async () => {
  const { dir, fs, files } = setUp()
  const isRefused = (id: string) => /-(1|600)$/.test(id)
  let most = 0
  const send = async (events: readonly OutgoingEvent[]) => {
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
  expect((await rejectedEvents(dir)).map(({ id }) => id.slice(25))).toEqual(['1', '600'])
})
