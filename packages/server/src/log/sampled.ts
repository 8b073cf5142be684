import type { Logger } from 'pino'

/** Most lines of one kind that are logged in a second; the others are only counted. */
const perSecond = 10

/** Logs the first few of each second, and with the next one how many were left out. */
export function sampled(
  log: Logger,
  level: 'info' | 'warn',
  now: () => number = () => performance.now(),
): (message: string, fields: () => object) => void {
  let second = -1
  let count = 0
  let suppressed = 0
  return (message, fields) => {
    const present = Math.floor(now() / 1000)
    if (present !== second) [second, count] = [present, 0]
    if (++count > perSecond) {
      suppressed++
      return
    }
    log[level](suppressed > 0 ? { ...fields(), suppressed } : fields(), message)
    suppressed = 0
  }
}
