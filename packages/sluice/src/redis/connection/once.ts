/** Resolves at the first of several events. */
export function once(
  emitter: { on(event: string, listener: () => void): unknown },
  events: readonly string[],
): Promise<void> {
  return new Promise((resolve) => {
    for (const event of events) emitter.on(event, () => resolve())
  })
}
