/**
 * The callbacks that wait for a signal. One listener serves them all: Node warns of a leak when a signal has more than
 * ten.
 */
const waiting = new WeakMap<AbortSignal, Set<() => void>>()

function callAll(this: AbortSignal): void {
  const listeners = waiting.get(this) ?? []
  waiting.delete(this)
  for (const listener of listeners) listener()
}

/**
 * Calls back once when the signal aborts; the returned function takes that back, so that signals that live long collect
 * nothing. A listener must not throw.
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal === undefined) return () => undefined
  const listeners = waiting.get(signal) ?? new Set()
  if (listeners.size === 0) {
    waiting.set(signal, listeners)
    signal.addEventListener('abort', callAll, { once: true })
  }
  // An own function for each call: the same listener may wait twice.
  const own = (): void => listener()
  listeners.add(own)
  return () => {
    if (!listeners.delete(own) || listeners.size > 0) return
    waiting.delete(signal)
    signal.removeEventListener('abort', callAll)
  }
}
