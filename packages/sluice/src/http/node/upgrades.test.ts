import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { HttpConnection } from '../../testing/http-connection.ts'
import { identity, pathOf } from '../index.ts'
import { closed } from '../testing/listening.ts'
import { rateLimit } from './index.ts'

const upgrade = 'GET /socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

/** The statuses of the answers to as many upgrades, of a server that accepts them as the docs say or as they come. */
async function upgrades(count: number, asksLimiter: boolean): Promise<number[]> {
  const policy = { service: 'suite', rules: [{ name: 'api', key: 'ip', limits: { rpm: 1 } }] }
  const limiter = await createLimiter({ policy })
  const server = createServer(rateLimit(limiter, (_req, res) => res.end()))
  const addressOf = identity({ trustedProxies: ['10.0.0.0/8'] })
  server.on('upgrade', async (req, socket) => {
    const ip = addressOf(req.socket.remoteAddress, req.headers) ?? 'unknown'
    const request = { method: 'GET', path: pathOf(req.url ?? ''), headers: req.headers, ip }
    const allowed = !asksLimiter || (await limiter.check(request)).allowed
    socket.end(`HTTP/1.1 ${allowed ? '101 Switching Protocols' : '429 Too Many Requests'}\r\nContent-Length: 0\r\n\r\n`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const answers: number[] = []
  for (let i = 0; i < count; i++) {
    const connection = await HttpConnection.open((server.address() as AddressInfo).port)
    connection.send(upgrade)
    answers.push(...(await connection.answers(1)))
    connection.close()
  }
  await closed(server)
  await limiter.close()
  return answers
}

describe('upgrades of a connection', () => {
  it('pass by the adapter, as Node hands them to nobody else', async () => {
    expect(await upgrades(3, false)).toEqual([101, 101, 101])
  })
  it('are limited where the server accepts them, as the docs show', async () => {
    expect(await upgrades(3, true)).toEqual([101, 429, 429])
  })
})
