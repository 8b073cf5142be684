import { expect, test } from 'vitest'
import { readEnv } from './src/env.ts'

const hint = 'use https://host'

test.each([
  ['PORT=http', 'PORT is http: use a whole number from 0 to 65535', (env) => env.whole('PORT', 3000, { most: 65_535 })],
  ['PORT=1.5', 'PORT is 1.5: use a whole number from 0', (env) => env.whole('PORT', 3000)],
  ['RATE=7', 'RATE is 7: use a number from 0 to 1', (env) => env.number('RATE', 0.1, { most: 1 })],
  ['RATE=', 'RATE is not set: use https://host', (env) => env.required('RATE', hint)],
  ['WHERE=here', 'WHERE is here: use https://host', (env) => env.url('WHERE', hint)],
  ['WHERE=here', 'WHERE is here: use a URL', (env) => env.optionalUrl('WHERE')],
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
