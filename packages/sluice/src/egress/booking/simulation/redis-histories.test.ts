import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MsgpackReader } from '../../../redis/msgpack.ts'
import { type RedisServer, startRedis } from '../../../testing/servers/redis.ts'
import { exchange } from '../engine/exchange.ts'
import { newState, type UpstreamState } from '../engine/state.ts'
import type { Exchange, ExchangeReply } from '../messages.ts'
import { readReply, upstreamKeys } from '../redis-port.ts'
import { RandomHistory } from './random-history.ts'
import { onServer, silenceUs } from './sharing.ts'

const generator = '../../../../../../scripts/lua.mjs'
const { scriptSource } = (await import(generator)) as {
  scriptSource(file: string, read: (file: string) => string): string
}

/** The script with its time taken from an argument. */
const source = scriptSource(fileURLToPath(new URL('../lua/exchange.lua', import.meta.url)), (file) =>
  file.endsWith('/redis/lua/server.lua')
    ? 'local call = redis.call\nlocal clock = tonumber(ARGV[3])\n'
    : readFileSync(file, 'utf8'),
)
const histories = Number(process.env.SLUICE_BOOKING_HISTORIES ?? 100)

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.url)
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

const sha = async (): Promise<string> => (await client.script('LOAD', source)) as string

async function inRedis(script: string, name: string, asked: Exchange, rawUs: number): Promise<ExchangeReply> {
  const keys = upstreamKeys('histories', name, 'sluice:')
  const args = ['9e15', JSON.stringify(asked), `${rawUs}`]
  const reader = new MsgpackReader(
    (await client.callBuffer('EVALSHA', script, keys.length, ...keys, ...args)) as Buffer,
  )
  reader.read()
  reader.read()
  return readReply(reader)
}

test('the script in Redis does step for step what the engine does', async () => {
  const script = await sha()
  for (let seed = 1; seed <= histories; seed++) {
    const history = new RandomHistory(seed)
    let state: UpstreamState | undefined
    for (let at = 0; at < 60; at++) {
      const { asked, answered } = history.next()
      const found = await inRedis(script, `h${seed}`, asked, history.rawUs)
      if (state === undefined) {
        state = newState(history.rawUs, found.marker, history.rawUs, history.rawUs + silenceUs(asked.rules))
        state.time.wallMs = asked.wallMs
      }
      const wanted = exchange(state, asked, history.rawUs, onServer)
      expect(found, `seed ${seed}, exchange ${at}: ${JSON.stringify(asked)}`).toEqual(wanted)
      answered(found)
    }
    if (seed % 50 === 0) await client.flushall()
  }
}, 120_000)
