import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createShipper } from 'sluice/shipper'
import { startCollector, waitFor } from 'sluice/testing'
import { expect, test } from 'vitest'
import { bundled } from '../bundled.ts'

async function start(role: string, dir: string, url: string): Promise<{ child: ChildProcess; lines: string[] }> {
  const program = await bundled(join(import.meta.dirname, 'child.mjs'))
  const child = spawn(process.execPath, [program, role, dir, url], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: string[] = []
  let text = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
    const parts = text.split('\n')
    text = parts.pop() ?? ''
    lines.push(...parts)
  })
  return { child, lines }
}

const idsIn = (lines: readonly string[]) => lines.filter((line) => line.includes('-') && line !== 'not-owner')

test('an owner that is stopped loses the buffer to another, notices it when it resumes, and loses nothing', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-pause-'))
  const collector = await startCollector()
  const { child, lines } = await start('slow', dir, collector.url)
  await waitFor(() => collector.events.size > 5, { describe: 'the first owner to ship' })
  child.kill('SIGSTOP')
  const other = await createShipper({ dir, endpoint: collector.url, flushInterval: 5, ownerTimeout: 300 })
  const id = await other.ship({ from: 'the other' })
  await waitFor(() => other.stats().isOwner && collector.events.has(id), { describe: 'the other to take over' })
  child.kill('SIGCONT')
  await waitFor(() => lines.includes('not-owner'), { describe: 'the first to notice' })
  const seen = idsIn(lines).length
  await waitFor(() => idsIn(lines).length > seen + 20, { describe: 'the first to go on storing' })
  expect(other.stats().isOwner).toBe(true)
  child.kill('SIGKILL')
  await once(child, 'close')
  await waitFor(() => idsIn(lines).every((each) => collector.events.has(each)), { describe: 'everything to arrive' })
  expect(other.stats().lost).toBe(0)
  await other.close()
  await collector.close()
})

test('a hook that runs while a service owns the buffer stores its event for the owner', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-hook-'))
  const collector = await startCollector()
  const service = await createShipper({ dir, endpoint: collector.url, flushInterval: 5 })
  const ids = await Promise.all(
    Array.from({ length: 10 }, async (_, n) => {
      const hook = await createShipper({ dir, endpoint: collector.url, flushInterval: false })
      const id = await hook.ship({ hook: n })
      expect((await hook.flush()).outcome).toBe('not-owner')
      await hook.close()
      return id
    }),
  )
  await waitFor(() => ids.every((id) => collector.events.has(id)), { describe: 'the events of the hooks' })
  expect(collector.duplicates).toBe(0)
  await service.close()
  await collector.close()
})
