import { createRequire } from 'node:module'
import * as common from '@nestjs/common'
import * as core from '@nestjs/core'
import { describe, expect, it, vi } from 'vitest'
import { httpConformance } from '../../packages/sluice/src/testing/http-conformance.ts'
import { startNestWith } from './nest-app.ts'

// The adapter's own imports of Nest resolve to the newest one, which is installed beside it here; an app with Nest 11
// has only that version.
vi.mock('../../node_modules/@nestjs/common/index.js', () => import('@nestjs/common'))
vi.mock('../../node_modules/@nestjs/core/index.js', () => import('@nestjs/core'))

const sluice = await import('../../packages/sluice/src/http/nest/index.ts')

describe('the adapter for Nest', () => {
  it('is loaded with Nest 11 here', () => {
    expect(sluice.RateLimitException.prototype).toBeInstanceOf(common.HttpException)
    expect(createRequire(import.meta.url)('@nestjs/common/package.json').version).toMatch(/^11\./)
  })
})

httpConformance(
  { describe, it },
  { name: 'Nest 11', start: startNestWith({ common: common as never, core: core as never, sluice }) },
)
