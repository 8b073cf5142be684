import { execFile } from 'node:child_process'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const built = new URL('../packages/sluice/dist/index.js', import.meta.url).href

/** Runs against the built package: only there can the parser's thread be started. */
const program = `
  import { readFileSync, renameSync } from 'node:fs'
  import { createLimiter, filePolicy } from ${JSON.stringify(built)}
  const [file, next] = process.argv.slice(1)
  const limiter = await createLimiter({ policy: filePolicy(file, { poll: 50 }) })
  const text = readFileSync(next, 'utf8')
  renameSync(next, file)
  let longestMs = 0, turns = 0, last = performance.now()
  const deadlineMs = performance.now() + 60_000
  while ((await limiter.health()).policy.version !== 'large' && performance.now() < deadlineMs) {
    await new Promise((resolve) => setImmediate(resolve))
    const now = performance.now()
    longestMs = Math.max(longestMs, now - last)
    last = now
    turns++
  }
  const { YAML } = { YAML: await import('yaml') }
  const begun = performance.now()
  YAML.parse(text, { uniqueKeys: false })
  const decision = await limiter.take('tenant-19999', { rule: 'r' })
  console.log(JSON.stringify({ longestMs, parseMs: performance.now() - begun, turns, amount: decision.limits[0].amount }))
  await limiter.close()
`

it('a policy with twenty thousand overrides is replaced without blocking the process for the time it takes to parse', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-reload-'))
  try {
    const file = join(folder, 'sluice.yaml')
    await writeFile(file, 'service: s\nversion: small\nrules:\n  - name: r\n    limits: { rpm: 10 }\n')
    const overrides = Array.from({ length: 20_000 }, (_, i) => `      - { key: tenant-${i}, limits: { rpm: ${i} } }`)
    await writeFile(
      `${file}.tmp`,
      `service: s\nversion: large\nrules:\n  - name: r\n    limits: { rpm: 10 }\n    overrides:\n${overrides.join('\n')}\n`,
    )
    await rename(`${file}.tmp`, `${file}.next`)
    const args = ['--input-type=module', '-e', program, file, `${file}.next`]
    const cwd = new URL('../packages/sluice', import.meta.url)
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd })
    const { longestMs, parseMs, amount } = JSON.parse(stdout) as Record<string, number>
    expect(amount).toBe(19_999)
    // As a ratio of one run: the longest pause is a small part of what parsing alone takes.
    expect(longestMs!).toBeLessThan(parseMs! / 3)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
