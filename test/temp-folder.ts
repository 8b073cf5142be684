import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

const prefix = 'sluice-test-'

/**
 * Gives a test run one folder for all temporary files, of the tests and of the processes that they start, and removes
 * it at the end: a process that a test kills cannot clean up by itself.
 */
export default function setup(): (() => void) | undefined {
  // Vitest calls this for each of its projects.
  if (basename(tmpdir()).startsWith(prefix)) return
  const folder = mkdtempSync(join(tmpdir(), prefix))
  // Database servers do not run as root, but keep their files in here.
  chmodSync(folder, 0o711)
  process.env.TMPDIR = folder
  // A daemon would keep its token file there instead.
  delete process.env.XDG_RUNTIME_DIR
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
