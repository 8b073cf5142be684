import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { testGroups } from './test-groups.ts'

const groups = testGroups()

test.each([
  ['a pure function', 'packages/sluice/src/core/key.test.ts', 'unit'],
  ['a part of the daemon', 'packages/server/src/http/input/inputs.test.ts', 'unit'],
  ['the daemon, which serves the built page', 'packages/server/src/recent/live.test.ts', 'servers'],
  ['a Redis', 'packages/sluice/src/stores/redis/histories.test.ts', 'servers'],
  ['a Redis, by a helper', 'examples/demo/demo.test.ts', 'servers'],
  ['the built command line, by a helper', 'packages/server/src/cli/cli.e2e.test.ts', 'servers'],
  ['a browser, by a helper', 'test/page/keys.test.ts', 'servers'],
  ['a long search', 'packages/sluice/src/shipper/crash-mutants.test.ts', 'servers'],
  ['what was built', 'test/exports.test.ts', 'servers'],
  ['the memory of its process', 'packages/server/src/proxy/attacks.e2e.test.ts', 'alone'],
  ['Nest, by a helper', 'test/nest11/nest11.test.ts', 'alone'],
] as const)('a test of %s is told by its text and its imports: %s is in %s', (_, file, group) => {
  expect(Object.entries(groups).flatMap(([name, files]) => (files.includes(file) ? [name] : []))).toEqual([group])
})

test('no unit test starts a server itself', () => {
  const starts = /\bstart(?:Redis|Cluster|Sentinel|Postgres|Mongod|Nginx|Process)\(/
  const wrong = groups.unit.filter((file) => starts.test(readFileSync(join(import.meta.dirname, '..', file), 'utf8')))
  expect(wrong).toEqual([])
})
