import { invalidOption } from '../../core/errors.ts'
import type { Fetch, LookupOptions } from '../cache.ts'
import { type EntryRules, readEntryOptions } from '../keys/key-spec.ts'

/** Checks the arguments of a lookup. */
export function readLookup<T>(fetch: Fetch<T>, options: LookupOptions<T> | undefined): EntryRules | undefined {
  if (typeof fetch !== 'function') throw invalidOption('fetch', fetch, 'pass a function that reads the value')
  if (options?.signal != null && typeof options.signal.throwIfAborted !== 'function')
    throw invalidOption('lookup.signal', options.signal, 'pass an AbortSignal')
  return options && readEntryOptions(options as never, 'lookup', ['signal'])
}

/** Detaches one caller without affecting what it waited for. */
export function detachable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
