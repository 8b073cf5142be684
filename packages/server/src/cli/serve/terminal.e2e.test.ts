import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import { waitFor } from 'sluice/testing'
import { beforeAll, expect, test } from 'vitest'
import { buildCli, cli } from '../testing/run-cli.ts'

beforeAll(() => buildCli(), 180_000)

/** `script` of util-linux gives a program a terminal; that of other systems takes other options. */
const hasScript = process.platform === 'linux' && existsSync('/usr/bin/script')

test.skipIf(!hasScript)('on a terminal, Enter prints another link, which signs in; Ctrl-C ends it', async () => {
  const { PATH = '', HOME = '' } = process.env
  // Without a shell in between, which would get Ctrl-C too.
  const command = `exec ${process.execPath} ${cli} serve --port 0`
  const child = spawn('script', ['-qefc', command, '/dev/null'], { env: { PATH, HOME, TERM: 'xterm' } })
  let seen = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    seen += stripVTControlCharacters(chunk)
  })
  const links = () => [...seen.matchAll(/(http:\/\/\S+)\/#code=([A-Z2-9-]{11})/g)]
  await waitFor(() => links().length === 1)
  child.stdin.write('\r')
  await waitFor(() => links().length === 2)
  const [[, url, first], [, , second]] = links() as unknown as [string[], string[]]
  expect(second).not.toBe(first)
  for (const [secret, status] of [
    [second, 200],
    [second, 401],
    [first, 200],
  ] as const) {
    const answer = await fetch(`${url}/v1/session`, {
      method: 'POST',
      headers: { 'x-sluice-page': '1' },
      body: JSON.stringify({ secret }),
    })
    expect(answer.status).toBe(status)
  }
  child.stdin.write('\x03')
  const [code] = await once(child, 'close')
  expect(code).toBe(0)
  expect(seen).toContain('SIGINT: answering what was accepted')
})

test.skipIf(!hasScript)('a daemon ends when its terminal is closed, and frees its port', async () => {
  const { PATH = '', HOME = '' } = process.env
  const command = `exec ${process.execPath} ${cli} serve --port 0`
  const child = spawn('script', ['-qefc', command, '/dev/null'], { env: { PATH, HOME, TERM: 'xterm' } })
  let seen = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    seen += stripVTControlCharacters(chunk)
  })
  const urlIn = () => /(http:\/\/\S+)\/#code=/.exec(seen)?.[1]
  await waitFor(() => urlIn() !== undefined)
  const url = urlIn()!
  expect((await fetch(`${url}/health`)).status).toBe(200)
  // With the process that holds the other end, the terminal is gone.
  child.kill('SIGKILL')
  await waitFor(() =>
    fetch(`${url}/health`).then(
      () => false,
      () => true,
    ),
  )
})
