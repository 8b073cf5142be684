import { once } from 'node:events'
import { connect } from 'node:net'
import { Writable } from 'node:stream'
import { waitFor } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { resolveConfig } from '../config/config.ts'
import { createLog } from '../log/create-log.ts'
import { type Daemon, serve } from '../serve.ts'
import { adminToken } from '../testing/started.ts'

describe('clients that speak HTTP badly', () => {
  let daemon: Daemon
  let logged = ''
  beforeAll(async () => {
    const sink = new Writable({
      write(chunk, _, done) {
        logged += chunk
        done()
      },
    })
    const config = resolveConfig({ port: '0' }, { SLUICE_ADMIN_TOKEN: adminToken })
    daemon = await serve(config, { log: createLog('warn', sink) })
  })
  afterAll(() => daemon.close())

  const dial = () => connect(Number(new URL(daemon.url).port), '127.0.0.1').setEncoding('utf8')
  const counted = async (status: string): Promise<number> => {
    const text = await (await fetch(`${daemon.url}/metrics`)).text()
    const lines = text.split('\n').filter((line) => line.includes(`status="${status}"`))
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  test.each([
    ['/v1/check', 'Content-Length: 1000\r\n\r\n{"key"'],
    ['/v1/check', 'Transfer-Encoding: chunked\r\n\r\n5\r\n{"key\r\n'],
    ['/v1/reserve', 'Content-Length: 1000\r\n\r\n{"key"'],
    ['/v1/policy/validate', 'Content-Length: 1000\r\n\r\nservice'],
  ])('one that goes away in the middle of a body for %s is no fault of the daemon', async (path, rest) => {
    const before = await counted('499')
    const client = dial()
    client.write(`POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${adminToken}\r\n${rest}`)
    await once(client, 'connect')
    // The daemon has read the head when it answers another client that came later.
    await fetch(`${daemon.url}/health`)
    client.destroy()
    await waitFor(async () => (await counted('499')) > before, { describe: 'the request that was given up' })
    expect([await counted('500'), logged]).toEqual([0, ''])
  })

  test('a policy is not checked any longer than its client waits', async () => {
    const before = await counted('499')
    const rules = Array.from({ length: 50_000 }, (_, i) => ({ name: `r${i}`, limits: { rpm: 1 } }))
    const body = JSON.stringify({ service: 'shop', rules })
    const client = dial()
    client.write(`POST /v1/policy/validate HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${adminToken}\r\n`)
    client.write(`Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`)
    const [answer] = await once(client, 'data')
    expect(answer).toMatch(/^HTTP\/1.1 100 /)
    // All of it is sent, and the client leaves without an answer.
    await new Promise<void>((sent) => client.write(body, () => sent()))
    client.destroy()
    await waitFor(async () => (await counted('499')) > before, { timeoutMs: 60_000, describe: 'the check that ended' })
    expect(logged).toBe('')
  })

  test('a policy with very many mistakes is answered with the first 200', async () => {
    const policy = `service: shop\n${Array.from({ length: 20_000 }, (_, i) => `k${i}: 1`).join('\n')}\nrules: []`
    const answer = await fetch(`${daemon.url}/v1/policy/validate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/yaml' },
      body: policy,
    })
    const { status, issues } = (await answer.json()) as { status: number; issues: { range?: { line: number } }[] }
    expect([status, issues.filter(({ range }) => range !== undefined).length]).toEqual([422, 200])
  })

  test('HTTP/1.0 without a Host header is answered, as load balancers check health so', async () => {
    const client = dial()
    client.write('GET /health HTTP/1.0\r\n\r\n')
    let answer = ''
    for await (const chunk of client) answer += chunk
    expect(answer).toMatch(/^HTTP\/1.1 200 .*"status":"ok"/is)
  })

  test.each(['/health', '/v1/check', '/nowhere'])('two Host headers for %s are answered 400', async (path) => {
    const client = dial()
    client.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n`)
    let answer = ''
    for await (const chunk of client) answer += chunk
    expect(answer).toMatch(/^HTTP\/1.1 400 .*application\/problem\+json.*connection: close.*"status":400/is)
  })
})
