import { afterAll, beforeAll, expect, test } from 'vitest'
import { findBinary } from './binary.ts'
import { gone } from './gone.ts'
import { type RedisServer, startRedis } from './redis.ts'
import { respClient } from './resp.ts'

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

test('parses every kind of reply', async () => {
  expect(await redis.cli('SET', 'a', 'schlüssel\r\n')).toBe('OK')
  expect(await redis.cli('GET', 'a')).toBe('schlüssel\r\n')
  expect(await redis.cli('GET', 'none')).toBe(null)
  expect(await redis.cli('INCR', 'n')).toBe(1)
  expect(await redis.cli('EVAL', 'return {1, {"a", false}, {}, {err="no"}}', 0)).toEqual([
    1,
    ['a', null],
    [],
    new Error('no'),
  ])
  await expect(redis.cli('NOPE')).rejects.toThrow('ERR unknown command')
  const long = 'x'.repeat(300_000)
  await redis.cli('SET', 'long', long)
  expect(await Promise.all([redis.cli('GET', 'long'), redis.cli('INCR', 'n')])).toEqual([long, 2])
})

test('a frozen server answers nothing, and goes on where it stood', async () => {
  const impatient = respClient(redis.port, 100)
  await redis.freeze()
  await expect(impatient.call('SET', 'while-frozen', 1)).rejects.toThrow('no answer to SET')
  redis.thaw()
  expect(await redis.cli('PING')).toBe('PONG')
  expect(await impatient.call('PING')).toBe('PONG')
  impatient.close()
})

test('killed and restarted, it is empty on the same port', async () => {
  await redis.cli('SET', 'a', 1)
  const { pid, port } = redis
  await redis.kill()
  await gone([pid])
  await expect(redis.cli('PING')).rejects.toThrow()
  await redis.restart()
  expect(redis.pid).not.toBe(pid)
  expect(redis.port).toBe(port)
  expect(await redis.cli('GET', 'a')).toBe(null)
})

test('takes further arguments, also for a restart', async () => {
  const small = await startRedis({ args: ['--maxmemory', '2mb'] })
  expect(await small.cli('CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', '2097152'])
  await small.restart(['--maxmemory', '3mb'])
  expect(await small.cli('CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', '3145728'])
  const [, folder] = await small.cli<string[]>('CONFIG', 'GET', 'dir')
  await small.stop()
  await gone([small.pid], [folder!])
})

test('many start at once on ports of their own', async () => {
  const servers = await Promise.all(Array.from({ length: 6 }, () => startRedis()))
  expect(new Set(servers.map(({ port }) => port)).size).toBe(6)
  await Promise.all(servers.map((server) => server.stop()))
  await gone(servers.map(({ pid }) => pid))
})

test('a program that is missing is named, with what to install', async () => {
  await expect((async () => startRedis({ binary: 'no-such-server' }))()).rejects.toThrow(
    /no-such-server was not found.*install/,
  )
})

const valkey = findBinary('valkey-server')
test.skipIf(!valkey)(`Valkey runs as well${valkey ? '' : ' (not run: valkey-server is not installed)'}`, async () => {
  const server = await startRedis({ binary: 'valkey-server' })
  expect(await server.info('server')).toHaveProperty('valkey_version')
  await server.stop()
})
