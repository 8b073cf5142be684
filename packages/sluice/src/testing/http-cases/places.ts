import assert from 'node:assert/strict'
import { HttpConnection, rawRequest } from '../http-connection.ts'
import { exchange } from '../http-exchange.ts'
import { waitFor } from '../wait-for.ts'
import { type AddTest, minute, type UsingApp } from './app.ts'

const atOnce = (amount: number) => minute(1, { limits: { name: 'busy', amount, algorithm: 'concurrency' } })

/** Limits on what is in flight. */
export function claimPlaces(using: UsingApp, it: AddTest): void {
  it('holds a place in flight until the response has ended', () =>
    using([atOnce(1)], {}, async ({ port, ask }) => {
      assert.equal((await ask('/hello')).headers['ratelimit-policy'], '"busy";q=1;qu="concurrent-requests"')
      const { leave } = exchange(port, '/hang')
      await waitFor(async () => (await ask('/hello')).status === 429, { describe: 'the place to be taken' })
      leave()
      await waitFor(async () => (await ask('/hello')).status === 200, { describe: 'the place to be free again' })
    }))

  it('lets the first requests on a concurrency limit pass that come in one packet', () =>
    using([atOnce(50)], {}, async ({ port, limiter }) => {
      const connection = await HttpConnection.open(port)
      connection.send(...Array.from({ length: 6 }, () => rawRequest('/hello')))
      assert.deepEqual(await connection.answers(6), [200, 200, 200, 200, 200, 200])
      connection.close()
      await waitFor(async () => (await limiter.inspect('127.0.0.1')).holds.length === 0, { describe: 'free places' })
    }))

  it('frees the places of requests that wait behind another when their connection ends', () =>
    using([atOnce(5)], {}, async ({ port, limiter }) => {
      const held = async () => (await limiter.inspect('127.0.0.1')).holds.length
      for (const end of ['close', 'reset'] as const) {
        const connection = await HttpConnection.open(port)
        connection.send(...Array.from({ length: 5 }, () => rawRequest('/hang')))
        await waitFor(async () => (await held()) > 0, { describe: 'a place to be taken' })
        connection[end]()
        await waitFor(async () => (await held()) === 0, { describe: `all places to be free after ${end}` })
      }
    }))
}
