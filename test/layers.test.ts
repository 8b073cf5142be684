import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cyclesIn } from './cycles.ts'
import { checkLayers, machineTime } from './layers.ts'
import { sourcesIn } from './read-source.ts'

const root = join(import.meta.dirname, '..')

describe('the packages', () => {
  const sources = sourcesIn(root)

  it('are found', () => expect(sources.length).toBeGreaterThan(0))
  it('import only downward, name vendors only in their folder, and keep core pure', () => {
    expect(checkLayers(sources)).toEqual([])
  })
  it('have no import cycles, between files or between folders side by side', () => {
    expect(cyclesIn(sources).map(({ of, members }) => `${of}: ${members.join(' ')}`)).toEqual([])
  })
  it('need every exception from the rule that time comes from a clock', () => {
    const needed = Object.keys(machineTime).filter((file) => {
      const { code } = sources.find(({ path }) => path === `packages/sluice/src/${file}`) ?? { code: '' }
      return checkLayers([{ path: 'packages/sluice/src/limiter/a.ts', code }]).some((each) => /a Clock/.test(each))
    })
    expect(needed).toEqual(Object.keys(machineTime))
  })
})

describe('the check of layers', () => {
  const check = (path: string, code: string) => checkLayers([{ path: `packages/${path}`, code }])

  it.each([
    ['an upward import', 'sluice/src/core/key.ts', "import { x } from '../limiter/x.ts'", 'imports upward'],
    [
      'an upward import of a type',
      'sluice/src/stores/a.ts',
      "import type { X } from '../limiter/x.ts'",
      'imports upward',
    ],
    ['an upward re-export', 'sluice/src/policy/a.ts', "export * from '../http/x.ts'", 'imports upward'],
    ['an upward import() type', 'sluice/src/core/a.ts', "type A = import('../http/x.ts').A", 'imports upward'],
    ['the root imported from inside', 'sluice/src/limiter/a.ts', "import { x } from '../index.ts'", 'imports upward'],
    ['testing in the library', 'sluice/src/limiter/a.ts', "import { x } from '../testing/index.ts'", 'imports upward'],
    ['the server in the library', 'sluice/src/http/a.ts', "import { x } from '@sluice/server'", 'imports upward'],
    ['the library by its own name', 'sluice/src/http/a.ts', "import { x } from 'sluice/redis'", 'imports upward'],
    ['the library in the dashboard', 'dashboard/src/a.ts', "import { x } from 'sluice'", 'imports upward'],
    [
      'a value of the server in the page',
      'dashboard/src/api/a.ts',
      "import { Limit } from '../../../server/src/http/shapes/decisions.ts'",
      'reaches out',
    ],
    ['a path into another package', 'server/src/a.ts', "import { x } from '../../sluice/src/x.ts'", 'reaches out'],
    ['a vendor in core', 'sluice/src/core/a.ts', "import { z } from 'zod'", 'the vendor zod'],
    [
      'a vendor out of its folder',
      'sluice/src/stores/memory.ts',
      "import { Redis } from 'ioredis'",
      'the vendor ioredis',
    ],
    ['a vendor loaded lazily', 'sluice/src/limiter/a.ts', "await import('pg')", 'the vendor pg'],
    ['a scoped vendor', 'sluice/src/http/koa/a.ts', "import { x } from '@nestjs/common/x'", 'vendor @nestjs/common'],
    ['a node: module in core', 'sluice/src/core/a.ts', "import { createHash } from 'node:crypto'", 'node:crypto'],
    ['a clock in core', 'sluice/src/core/a.ts', 'const now = Date.now()', 'core uses Date.now'],
    ['a clock handed on in core', 'sluice/src/core/a.ts', 'const clock = { now: performance.now }', 'performance.now'],
    ['the time of day in core', 'sluice/src/core/a.ts', 'const today = new Date()', 'core uses new Date()'],
    [
      'a clock read beside the given one',
      'sluice/src/http/a.ts',
      'const now = performance.now()',
      'instead of a Clock',
    ],
    ['a timer of the machine', 'sluice/src/cache/a.ts', 'setInterval(() => {}, 1)', 'uses setInterval'],
    ['a timer by import', 'sluice/src/cache/a.ts', "import { setTimeout } from 'node:timers/promises'", 'a Clock'],
    ['a timer handed on', 'sluice/src/cache/a.ts', 'const later = globalThis.setTimeout', 'uses setTimeout'],
    ['a timer in core', 'sluice/src/core/a.ts', 'setTimeout(() => {}, 1)', 'core uses setTimeout'],
    [
      'chance in core',
      'sluice/src/core/a.ts',
      'export const x = (): number => globalThis.Math.random()',
      'Math.random',
    ],
    ['a part that is not in the table', 'sluice/src/helpers/a.ts', 'export const x = 1', 'not in the table'],
  ])('refuses %s', (_, path, code, expected) => {
    expect(check(path, code)).toEqual([expect.stringContaining(expected)])
  })

  it.each([
    ['a downward import', 'sluice/src/limiter/a.ts', "import { x } from '../core/x.ts'"],
    ['an import within a part', 'sluice/src/stores/redis/a.ts', "import { x } from '../store.ts'"],
    ['a vendor in its folder', 'sluice/src/metrics/prometheus.ts', "import type { Registry } from 'prom-client'"],
    ['everything in the root', 'sluice/src/index.ts', "export { x } from './http/x.ts'"],
    ['everything in testing', 'sluice/src/testing/a.ts', "import 'ioredis'\nimport '../limiter/x.ts'"],
    ['the library in the server', 'server/src/a.ts', "import 'sluice/redis'\nimport 'pino'"],
    ['a date made from a number in core', 'sluice/src/core/a.ts', 'const day = (at: number) => new Date(at)'],
    ['comments and strings', 'sluice/src/core/a.ts', "// import 'pg'; Date.now()\nexport const x = 'setTimeout()'"],
  ])('accepts %s', (_, path, code) => {
    expect(check(path, code)).toEqual([])
  })

  it('refuses parts of one level that import each other in a circle', () => {
    const sources = [
      { path: 'packages/sluice/src/limiter/a.ts', code: "import '../cache/b.ts'" },
      { path: 'packages/sluice/src/cache/b.ts', code: "import '../shipper/c.ts'" },
    ]
    expect(checkLayers(sources)).toEqual([])
    const circle = [...sources, { path: 'packages/sluice/src/shipper/c.ts', code: "import '../limiter/a.ts'" }]
    expect(checkLayers(circle)).toEqual(['import each other in a circle: cache, limiter, shipper'])
  })
})

describe('the search for import cycles', () => {
  const cycles = (files: Record<string, string>) =>
    cyclesIn(Object.entries(files).map(([path, code]) => ({ path: `packages/${path}`, code })))

  it('finds files that import each other through others, by type too', () => {
    const files = {
      'a/src/one.ts': "import { two } from './two.ts'",
      'a/src/two.ts': "import type { Three } from './three.ts'",
      'a/src/three.ts': "export type One = import('./one.ts').One",
      'a/src/user.ts': "import './one.ts'",
    }
    expect(cycles(files)).toEqual([{ of: 'files', members: ['a/src/one.ts', 'a/src/three.ts', 'a/src/two.ts'] }])
  })

  it('finds folders side by side that import each other though no file does', () => {
    const files = {
      'a/src/x/one.ts': "import '../y/deep/two.ts'",
      'a/src/y/deep/two.ts': 'export const two = 2',
      'a/src/y/other.ts': "export * from '../x/three.ts'",
      'a/src/x/three.ts': 'export const three = 3',
    }
    expect(cycles(files)).toEqual([{ of: 'folders', members: ['a/src/x', 'a/src/y'] }])
  })

  it('accepts a folder that imports from the folder above it', () => {
    const files = {
      'a/src/x/one.ts': "import '../shared.ts'",
      'a/src/shared.ts': 'export const shared = 1',
      'a/src/index.ts': "export * from './x/one.ts'",
    }
    expect(cycles(files)).toEqual([])
  })
})
