import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import type { RuleSpec } from '../../policy/document/document.ts'
import { type AddTest, minute, type UsingApp } from './app.ts'
import { randomTargets } from './random-targets.ts'

/** Targets that some router takes for the path of a handler. */
const targets: readonly string[] = [
  ...[
    '/hello',
    '/HELLO',
    '/hello/',
    '//hello',
    '///hello',
    '/hello//',
    '/%68ello',
    '/%68%65llo',
    '/hello%00',
    '/hello%20',
  ],
  ...[
    '/hello#x',
    '/hello#',
    '/hello#?x',
    '/hello?#',
    '/hello?x#y',
    '/hello#/../x',
    '/#/hello',
    '/x#/../hello',
    '/hello?/../x',
  ],
  ...['/\\hello', '\\hello', '/hello\\', '/x\\..\\hello', '/\\hello#x', '/x\\../hello#', '/\\\\hello', '//\\hello'],
  ...['/x/../hello', '/./hello', '/hello/.', '/hello/x/..', '/../hello', '/x/y/../../hello', '/..//hello', '/.//hello'],
  ...['/%2e/hello', '/x/%2e%2e/hello', '/x/.%2e/hello', '/%2E%2E/hello', '/hello/%2e', '/x%2f..%2fhello', '/%2fhello'],
  ...['/hello;', '/hello;x=1', '/hello;x=1/y', '/;/hello', '/hello;/../x', '/..;/hello', '/x;/../hello', '/hello%3bx'],
  ...['//x/hello', '/\\x/hello', '//x/../hello', '//x\\hello', '//[/hello', '///x/hello', '//x:80/hello', '//@x/hello'],
  ...[
    'http://x/hello',
    'HTTP://X/hello',
    'http://x//hello',
    'http://x?/hello',
    'http://x#/hello',
    'http://x\\hello',
    'http:/hello',
  ],
  ...[
    'http://x/y/../hello',
    'https://u:p@x:1/hello#z',
    'http://x/hello;y',
    'x://y/hello',
    'http:///hello',
    'http:hello',
  ],
  ...['*hello', '*/hello', '*//hello', '*hello#x', '*x/../hello', '*%68ello', '**hello', '*status/299', '*hello;x'],
  ...['/static/../hello', '/static/..%2fhello', '/static;/../hello', '/static\\..\\hello', '/static/%2e%2e/hello'],
  ...[
    '/status/299',
    '/status/299#',
    '/status//299',
    '/STATUS/299/',
    '/status/x/../299',
    '/status/299;x',
    '/status\\299',
  ],
  ...[
    '/x/../status/299',
    '/status/./299',
    '/%73tatus/%3299',
    '//x/status/299',
    'http://x/status/299?y',
    'http:///x/hello',
    'http:////x/hello',
    'http:/x/hello',
    'HTTP:///x/status/299',
    'http:///hello#',
    'http:///hello?x',
    'http:///x/hello#y',
    'http://x?/hello#y',
    'http://x#/hello?y',
    '/status/299%20',
  ],
]

/** Each rule covers one handler; no limit is reached. */
const rules: readonly RuleSpec[] = [
  minute(1e9, { name: 'hello', match: { path: '/hello' }, key: 'const:all' }),
  minute(1e9, { name: 'health', match: { path: '/healthz' }, key: 'const:all' }),
  minute(1e9, { name: 'status', match: { path: '/status/:code' }, key: 'const:all' }),
]
// Below a path that is skipped, only what really is there may be skipped.
const options = { skip: { paths: ['/static/*'] } }

/** How many random targets are tried. `SLUICE_FUZZ=100000` is the long form. */
const count = Number(process.env.SLUICE_FUZZ ?? 500)

/** No spelling of a request target gets around the rule that covers a handler. */
export function claimTargets(using: UsingApp, it: AddTest): void {
  it('counts every request whose handler ran, however its target is spelt', () =>
    using(rules, options, ({ port }) => tryAll(port, targets)))

  const seed = Number(process.env.SLUICE_SEED ?? Date.now() % 1_000_000_000)
  it(`counts every request whose handler ran, over ${count} random targets`, () =>
    using(rules, options, async ({ port }) => {
      try {
        await tryAll(port, randomTargets(seed, count))
      } catch (error) {
        throw new Error(`SLUICE_SEED=${seed}: ${(error as Error).message}`, { cause: error })
      }
    }))
}

async function tryAll(port: number, all: readonly string[]): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const waiting = [...new Set(all)]
  const bypasses: string[] = []
  let ran = 0
  const lane = async (): Promise<void> => {
    for (let target = waiting.pop(); target !== undefined; target = waiting.pop()) {
      const answer = await send(agent, port, target)
      if (!answer.ran) continue
      ran++
      if (!answer.counted) bypasses.push(target)
    }
  }
  await Promise.all(Array.from({ length: 8 }, lane))
  agent.destroy()
  assert.deepEqual(
    bypasses.slice(0, 10),
    [],
    `${bypasses.length} of ${ran} requests ran a handler and were not counted`,
  )
  assert.ok(ran > 0, 'no handler ran')
}

interface Tried {
  readonly ran: boolean
  readonly counted: boolean
}

/**
 * Sends a target as it stands. A handler ran if it answered; a rule counted the request if there are rate-limit
 * headers.
 */
function send(agent: Agent, port: number, target: string): Promise<Tried> {
  return new Promise((resolve) => {
    const outgoing = request({ host: '127.0.0.1', port, path: target, agent, headers: { host: '127.0.0.1' } })
    // What the server does not take for HTTP has no handler.
    outgoing.on('error', () => resolve({ ran: false, counted: false }))
    outgoing.on('response', (incoming) => {
      let body = ''
      incoming.setEncoding('latin1')
      incoming.on('data', (chunk: string) => {
        body += chunk
      })
      incoming.on('close', () => {
        const ran = (incoming.statusCode === 200 && body === 'hello') || incoming.statusCode === 299
        resolve({ ran, counted: incoming.headers['ratelimit-policy'] !== undefined })
      })
    })
    outgoing.end()
  })
}
