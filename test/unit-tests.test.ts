import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { unitTests } from './unit-tests.ts'

const files = unitTests()

test.each([
  ['a pure function', 'packages/sluice/src/core/key.test.ts', true],
  ['a part of the daemon', 'packages/server/src/http/input/inputs.test.ts', true],
  ['the daemon, which serves the built page', 'packages/server/src/recent/live.test.ts', false],
  ['a Redis', 'packages/sluice/src/stores/redis/histories.test.ts', false],
  ['a Redis, by a helper', 'examples/demo/demo.test.ts', false],
  ['the built command line, by a helper', 'packages/server/src/cli/cli.e2e.test.ts', false],
  ['a browser, by a helper', 'test/page/keys.test.ts', false],
  ['a long search', 'packages/sluice/src/shipper/crash-mutants.test.ts', false],
  ['what was built', 'test/exports.test.ts', false],
])('a test of %s is told by its text and its imports: %s, %s', (_, file, isUnit) => {
  expect(files.includes(file)).toBe(isUnit)
})

test('no unit test starts a server itself', () => {
  const starts = /\bstart(?:Redis|Cluster|Sentinel|Postgres|Mongod|Nginx|Process)\(/
  const wrong = files.filter((file) => starts.test(readFileSync(join(import.meta.dirname, '..', file), 'utf8')))
  expect(wrong).toEqual([])
})
