import { format } from 'node:util'
import type { Logger } from 'pino'

const levels = { error: 'error', warn: 'warn', info: 'info', log: 'info' } as const

/**
 * Puts what drivers print themselves (grpc-js, ioredis) into the log, whose every line is JSON; the returned function
 * ends that.
 */
export function logDriverLines(log: Logger): () => void {
  const former = { ...console }
  for (const [method, level] of Object.entries(levels)) {
    console[method as keyof typeof levels] = (...printed) => log[level]({ source: 'driver' }, format(...printed))
  }
  return () => Object.assign(console, former)
}
