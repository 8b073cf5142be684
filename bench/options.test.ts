import { expect, test } from 'vitest'
import { readOptions } from './options.ts'

test('without arguments, the engine is measured in seven rounds', () => {
  expect(readOptions([])).toEqual({ sections: ['redis', 'memory'], rounds: 7, quick: false, json: undefined })
})

test('sections, rounds and the file for figures are read', () => {
  expect(readOptions(['memory', '--rounds', '2', '--quick', '--json', 'out.json'])).toEqual({
    sections: ['memory'],
    rounds: 2,
    quick: true,
    json: 'out.json',
  })
})

test('an unknown section and a wrong number of rounds are refused by name', () => {
  expect(() => readOptions(['redsi'])).toThrow('there is no section "redsi"')
  expect(() => readOptions(['--rounds', '0'])).toThrow('--rounds is 0')
})
