import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { waitFor } from 'sluice/testing'
import { expect, it } from 'vitest'
import { FileBacked, followFiles } from './file-backed.ts'

it('notices a change that came after a file was read and before anybody followed it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-file-'))
  const file = join(folder, 'token')
  const errors: unknown[] = []
  const log = { info: () => {}, error: (about: unknown) => errors.push(about) } as unknown as Logger
  writeFileSync(file, 'first')
  const token = new FileBacked([file], () => readFileSync(file, 'utf8'))
  writeFileSync(file, 'second')
  const { stop } = followFiles([token], log)
  await waitFor(() => token.current === 'second')
  // A file that is gone is an error, once, and what was read stays.
  rmSync(file)
  await waitFor(() => errors.length > 0)
  expect(token.current).toBe('second')
  writeFileSync(file, 'third')
  await waitFor(() => token.current === 'third')
  expect(errors).toHaveLength(1)
  stop()
  rmSync(folder, { recursive: true })
})
