import { optionNames } from '../core/check-options.ts'
import type { LimiterOptions } from './options.ts'

/** The names of the options of `createLimiter`, for who checks them before it is loaded. */
export const limiterOptionNames: readonly string[] = optionNames<LimiterOptions>({
  ...{ policy: true, limits: true, service: true, fallbackPolicy: true, redis: true, store: true, deadline: true },
  ...{ breaker: true, replicas: true, denyCache: true, lease: true, functions: true, recount: true, env: true },
  ...{ name: true, clock: true },
})
