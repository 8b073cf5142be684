import type { Daemon } from './serve.ts'

/**
 * Lets SIGTERM and SIGINT end the daemon: the first drains, a second ends the process at once. Resolves when the daemon has drained.
 *
 * @example
 * await endOnSignals(await serve(config))
 */
export function endOnSignals(daemon: Daemon): Promise<void> {
  return new Promise((resolve, reject) => {
    let ending = false
    const end = (signal: NodeJS.Signals): void => {
      // 128 + the number of the signal, as shells count.
      if (ending) process.exit(signal === 'SIGINT' ? 130 : 143)
      ending = true
      daemon.log.info({ signal }, 'draining; the same signal again ends at once')
      daemon.close().then(resolve, reject)
    }
    process.on('SIGTERM', end)
    process.on('SIGINT', end)
  })
}
