// CommonJS in TypeScript: an ordinary import, which becomes a `require` of the ES module.
import { createLimiter } from 'sluice'
import { openRedis } from 'sluice/redis'

export const limiter = createLimiter({ limits: { rpm: 100 } })
export const make = openRedis
