import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../serve.ts'
import { hold } from '../testing/held-to-description.ts'
import { adminToken, send, startDaemon } from '../testing/started.ts'

describe('bad input', () => {
  let daemon: Daemon
  beforeAll(async () => {
    daemon = await startDaemon()
  })
  afterAll(() => daemon.close())

  async function call(method: string, path: string, body?: unknown): Promise<{ status: number; headers: Headers }> {
    const answer = await send(daemon.url + path, method, body)
    hold(method, path, body, answer)
    return answer
  }

  test.each([
    ['nothing', ''],
    ['no JSON', '{"key":'],
    ['a list', '[]'],
    ['no key', '{}'],
    ['a key that is no key', '{"key":{}}'],
    ['an empty key', '{"key":[],"rule":"per-user"}'],
    ['a cost that is no number', '{"key":"a","rule":"per-user","cost":"1"}'],
    ['a broken cost', '{"key":"a","rule":"per-user","cost":0.5}'],
    ['a negative cost', '{"key":"a","rule":"per-user","cost":-1}'],
    ['an unknown field', '{"key":"a","rulee":"per-user"}'],
    ['a key and a request', '{"key":"a","request":{}}'],
    ['a rule beside a request', '{"request":{},"rule":"per-user"}'],
    ['a request that is none', '{"request":7}'],
    ['an unknown field in a request', '{"request":{"Path":"/api/x"}}'],
    ['a method with a spelling mistake', '{"request":{"path":"/api/x","methd":"POST"}}'],
    ['a mirror that is neither', '{"key":"a","rule":"per-user","mirror":"yes"}'],
    ['a mirror in one of many', '{"checks":[{"key":"a","rule":"per-user","mirror":true}]}'],
    ['headers that are none', '{"request":{"headers":{"a":1}}}'],
    ['headers in a list', '{"request":{"headers":[["x-api-key","k"]]}}'],
    ['a query in a list', '{"request":{"query":["a"]}}'],
    ['no checks', '{"checks":[]}'],
    ['too many checks', JSON.stringify({ checks: Array(1001).fill({ key: 'a' }) })],
    ['a body nested too deep', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['depth within a request', `{"request":{"body":${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}}}`],
  ])('answers 400 with a problem to %s', async (_, body) => {
    const answer = await call('POST', '/v1/check', body)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'application/problem+json'])
  })

  test('mirror is refused beside many checks, where it would be ignored', async () => {
    const checks = [{ key: 'a', rule: 'per-user' }]
    expect((await call('POST', '/v1/check?mirror=true', { checks })).status).toBe(400)
  })

  test('a key whose parts were resolved as folders is not taken for the key that is left', async () => {
    for (const path of ['/v1/keys/example/per-user/x/../y', '/v1/keys/example/per-user/%2E%2e/y']) {
      const { hostname, port } = new URL(daemon.url)
      const headers = { authorization: `Bearer ${adminToken}` }
      const status = await new Promise((resolve, reject) => {
        const sent = request({ hostname, port, path, method: 'DELETE', headers }, (answer) => {
          answer.resume()
          resolve(answer.statusCode)
        })
        sent.on('error', reject)
        sent.end()
      })
      expect(status).toBe(400)
    }
  })

  test('brackets within texts are not depth', async () => {
    expect((await call('POST', '/v1/check', { key: '['.repeat(150), rule: 'per-user' })).status).toBe(200)
    expect((await call('POST', '/v1/check', { key: `"${'\\"[['.repeat(40)}`, rule: 'per-user' })).status).toBe(200)
  })

  test.each([
    ['POST', '/v1/check?miror=true', { key: 'a', rule: 'per-user' }],
    ['POST', '/v1/check?mirror=maybe', { key: 'a', rule: 'per-user' }],
    ['POST', '/v1/reserve?ttl=1', { key: 'a', rule: 'per-user' }],
    ['POST', '/v1/reserve', { key: 'a', rule: 'per-user', mirror: true }],
    ['POST', '/v1/settle?x', { key: 'a', rule: 'per-user', id: 'i', actual: 0 }],
    ['POST', '/v1/explain?x=1', { request: {} }],
    ['POST', '/v1/explain', { request: {}, requst: {} }],
    ['GET', '/v1/keys/example/per-user/a?x=1', undefined],
    ['DELETE', '/v1/keys/example/per-user/a?dryRun=true', undefined],
    ['GET', '/v1/stats?tpo=5', undefined],
    ['GET', '/v1/stats?top=1&top=2', undefined],
    ['GET', '/v1/stats?top=1e1', undefined],
    ['GET', '/v1/policy?version=1', undefined],
    ['GET', '/v1/policy/versions?limt=5', undefined],
    ['GET', '/ready?strict=perhaps', undefined],
    ['GET', '/ready?strct=true', undefined],
  ])('%s %s is refused: nothing unknown is ignored', async (method, path, body) => {
    expect((await call(method, path, body)).status).toBe(400)
  })

  test('another method is answered with those there are', async () => {
    const answer = await send(`${daemon.url}/v1/check`, 'GET')
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
    const keys = await send(`${daemon.url}/v1/keys/example/per-user/a`, 'PATCH')
    expect([keys.status, keys.headers.get('allow')]).toEqual([405, 'GET, DELETE'])
  })

  test('bounds bodies, also those sent in chunks, and headers', async () => {
    expect((await call('POST', '/v1/check', ' '.repeat(1024 * 1024 + 1))).status).toBe(413)
    const chunks = new ReadableStream({
      pull(controller) {
        controller.enqueue(new Uint8Array(64 * 1024).fill(32))
      },
    })
    const chunked = await fetch(`${daemon.url}/v1/check`, {
      method: 'POST',
      body: chunks,
      duplex: 'half',
    } as RequestInit).catch((error: Error) => error)
    // The answer may be cut off by the sender, who is still sending.
    expect(chunked instanceof Error ? 413 : chunked.status).toBe(413)
    expect((await fetch(`${daemon.url}/health`, { headers: { 'x-long': 'a'.repeat(70_000) } })).status).toBe(431)
  })
})
