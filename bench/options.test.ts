import { expect, test } from 'vitest'
import { readOptions } from './options.ts'

test('without arguments, the engine is measured in seven rounds', () => {
  expect(readOptions([])).toEqual({ sections: ['redis', 'memory'], rounds: 7, quick: false })
})

test('sections, rounds, a choice of cases and the file for figures are read', () => {
  expect(readOptions(['http', '--rounds', '2', '--quick', '--only', 'hono', '--json', 'out.json'])).toEqual({
    sections: ['http'],
    rounds: 2,
    quick: true,
    only: 'hono',
    json: 'out.json',
  })
})

test('an unknown section and a wrong number of rounds are refused by name', () => {
  expect(() => readOptions(['redsi'])).toThrow('there is no section "redsi"')
  expect(() => readOptions(['--rounds', '0'])).toThrow('--rounds is 0')
})
