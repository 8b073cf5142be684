interface Emits {
  on(event: string, listener: () => void): unknown
  off(event: string, listener: () => void): unknown
}

/** Resolves at the first of several events, and then listens to none of them any more. */
export function once(emitter: Emits, events: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    const first = (): void => {
      for (const event of events) emitter.off(event, first)
      resolve()
    }
    for (const event of events) emitter.on(event, first)
  })
}
