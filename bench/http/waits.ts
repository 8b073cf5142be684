/** Awaits as a limiter does, without limiting: until the end of a turn of the event loop, in memory as on Redis. */
export const waitATurn = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve))
