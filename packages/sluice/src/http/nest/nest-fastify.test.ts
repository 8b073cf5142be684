import * as common from '@nestjs/common'
import * as core from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { describe, it } from 'vitest'
import { startNestWith } from '../../../../../test/nest11/nest-app.ts'
import { httpConformance } from '../../testing/http-conformance.ts'
import * as sluice from './index.ts'

// The types of the app are those of Nest 11, in whose folder it is.
const nest = { common: common as never, core: core as never, sluice }
const start = startNestWith({ ...nest, platform: () => new FastifyAdapter() as never })

httpConformance({ describe, it }, { name: 'Nest 12 on Fastify', start })
