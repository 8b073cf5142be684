import type { Terminal } from '../command.ts'

/** Signals that come together are one key press: npm passes on what the terminal has already sent. */
const togetherMs = 100

/**
 * Resolves at the first SIGTERM or SIGINT, on a terminal also when that is closed; `again` is called for every further
 * one.
 */
export function endSignal(again: (signal: NodeJS.Signals) => void, onTerminal = false): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let first: { readonly signal: NodeJS.Signals; readonly atMs: number } | undefined
    const heard = (signal: NodeJS.Signals): void => {
      if (first === undefined) {
        first = { signal, atMs: performance.now() }
        resolve(signal)
        return
      }
      const isEcho = signal === 'SIGINT' && first.signal === 'SIGINT' && performance.now() - first.atMs < togetherMs
      if (!isEcho) again(signal)
    }
    process.on('SIGTERM', heard).on('SIGINT', heard)
    if (onTerminal) process.on('SIGHUP', heard)
  })
}

/**
 * Reads certificates and tokens again at SIGHUP, as daemons do; the policy is followed as it changes anyway. On a
 * terminal the signal says that it was closed.
 */
export function reloadOnHangup(terminal: Pick<Terminal, 'live'>, daemon: { reload(): void }): void {
  if (!terminal.live) process.on('SIGHUP', () => daemon.reload())
}
