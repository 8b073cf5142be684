import { invalidOption } from '../../core/errors.ts'
import type { Fetch, LookupOptions } from '../cache.ts'
import { type EntryRules, readEntryOptions } from '../keys/key-spec.ts'

/** Checks the arguments of a lookup and reads its options. */
export function readLookup<T>(fetch: Fetch<T>, options: LookupOptions<T> | undefined): EntryRules | undefined {
  if (typeof fetch !== 'function') throw invalidOption('fetch', fetch, 'pass a function that reads the value')
  if (options?.signal != null && typeof options.signal.throwIfAborted !== 'function')
    throw invalidOption('lookup.signal', options.signal, 'pass an AbortSignal')
  return options && readEntryOptions(options as never, 'lookup', ['signal'])
}
