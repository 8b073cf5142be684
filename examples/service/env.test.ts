import { expect, test } from 'vitest'
import { readEnv } from './src/env.ts'
import { openPool } from './src/postgres.ts'
import { connectRedis } from './src/redis.ts'

const hint = 'use https://host'

test.each([
  ['PORT=http', 'PORT is http: use a whole number from 0 to 65535', (env) => env.whole('PORT', 3000, { most: 65_535 })],
  ['PORT=1.5', 'PORT is 1.5: use a whole number from 0', (env) => env.whole('PORT', 3000)],
  ['WAIT_MS=1e12', 'WAIT_MS is 1e12: use a whole number from 0 to 2147483647', (env) => env.whole('WAIT_MS', 5)],
  ['RATE=7', 'RATE is 7: use a number from 0 to 1', (env) => env.number('RATE', 0.1, { most: 1 })],
  ['WAIT_MS=99999999999', 'use a whole number from 0 to 2147483647', (env) => env.whole('WAIT_MS', 1)],
  ['RATE=', 'RATE is not set: use https://host', (env) => env.required('RATE', hint)],
  ['WHERE=here', 'WHERE is here: use https://host', (env) => env.url('WHERE', hint)],
  ['WHERE=host:80/path', 'WHERE is host:80/path: use https://host', (env) => env.url('WHERE', hint)],
  ['WHERE=ftp://host', 'WHERE is ftp://host: use https://host', (env) => env.url('WHERE', hint)],
  ['WHERE=here', 'WHERE is here: use a URL', (env) => env.optionalUrl('WHERE')],
  ['REDIS_URL=http://h', 'REDIS_URL is http://h: use redis://host:6379', (env) => connectRedis(env, () => undefined)],
  // Passwords are not for logs.
  ['WHERE=//me:secret@host', 'WHERE is ***@host: use https://host', (env) => env.url('WHERE', hint)],
  [
    'REDIS_URL=redis:secret@h',
    'REDIS_URL is ***@h: use redis://host:6379',
    (env) => connectRedis(env, () => undefined),
  ],
  ['REDIS_SENTINELS=a:1,b:x', 'REDIS_SENTINELS is b:x: use host:26379', (env) => connectRedis(env, () => undefined)],
  ['MODE=no', 'MODE is no: use open, closed', (env) => env.choice('MODE', ['open', 'closed'], 'open')],
] as [string, string, (env: ReturnType<typeof readEnv>) => unknown][])(
  'a wrong value is named with its variable and what to use: %s',
  (given, message, read) => {
    const [name = '', value = ''] = given.split('=')
    expect(() => read(readEnv({ [name]: value }))).toThrow(message)
  },
)

test('what is empty counts as unset', () => {
  const env = readEnv({ A: ' ', B: 'a, b,,c' })
  expect([env.optional('A'), env.text('A', 'x'), env.whole('A', 5), env.optionalUrl('A')]).toEqual([
    ...[undefined, 'x', 5, undefined],
  ])
  expect(env.list('B')).toEqual(['a', 'b', 'c'])
})

test.each([
  ['http://host/prices', 'a URL of PostgreSQL begins with postgresql://, not http://'],
  ['postgres://host/prices?connection_limit=0', 'connection_limit is 0: use a whole number from 1'],
  ['postgres://host/prices?pool_timeout=10s', 'pool_timeout is 10s: use a whole number from 1'],
])('a URL of PostgreSQL is refused for what would be ignored: %s', (url, message) => {
  expect(() => openPool(url)).toThrow(message)
})
