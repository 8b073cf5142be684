import { Redis as Ioredis } from 'ioredis'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { sharedRedis } from '../testing/shared-redis.ts'

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server?.stop())

/** The connections that were made after the given client, and the client. */
function watched(): { readonly client: Ioredis; readonly made: () => Ioredis[] } {
  const client = new Ioredis({ port: server.port, lazyConnect: true })
  const duplicate = vi.spyOn(client, 'duplicate')
  return { client, made: () => duplicate.mock.results.map(({ value }) => value as Ioredis) }
}

/** Does what the failover detector of ioredis does when masters are switched while the client is connecting. */
async function disconnectWhileConnecting(own: Ioredis): Promise<void> {
  const ended = new Promise((resolve) => own.once('end', resolve))
  const { connector } = own as unknown as { readonly connector: { disconnect(): void } }
  own.once('connecting', () => connector.disconnect())
  own.disconnect(true)
  await ended
}

test('a connection that ioredis has ended for good is made again', async () => {
  const { client, made } = watched()
  const redis = sharedRedis(client)
  await redis.command(['PING'])
  const [own] = made()
  for (let round = 0; round < 3; round++) {
    await disconnectWhileConnecting(own!)
    await waitFor(async () => (await redis.command(['PING'])) === 'PONG')
  }
  await redis.close()
  await waitFor(() => own!.status === 'end')
})

test('messages come again after such an end', async () => {
  const { client, made } = watched()
  const redis = sharedRedis(client)
  const seen: string[] = []
  redis.subscribe('news', { message: (text) => seen.push(text) })
  await waitFor(async () => (await redis.publish('news', 'one')) === 1)
  const subscriber = made().find((own) => own.options.autoResubscribe === false)!
  await disconnectWhileConnecting(subscriber)
  await waitFor(async () => (await redis.publish('news', 'two')) === 1)
  await waitFor(() => seen.includes('two'))
  await redis.close()
})

test('stays closed when it was closed while an attempt was due', async () => {
  const { client, made } = watched()
  const redis = sharedRedis(client, { reconnect: 50 })
  await redis.command(['PING'])
  const [own] = made()
  await disconnectWhileConnecting(own!)
  const connect = vi.spyOn(own!, 'connect')
  await redis.close()
  await new Promise((resolve) => setTimeout(resolve, 150))
  expect(connect).not.toHaveBeenCalled()
  expect(own!.status).toBe('end')
})
