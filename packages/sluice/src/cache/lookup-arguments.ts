import { invalidOption } from '../core/errors.ts'
import type { LookupOptions } from './cache.ts'
import type { Fetch } from './flights/flight.ts'
import { type EntryRules, readEntryOptions } from './keys/key-spec.ts'

/** Checks the arguments of a lookup and reads its options. */
export function readLookup<T>(fetch: Fetch<T>, options: LookupOptions<T> | undefined): EntryRules | undefined {
  if (typeof fetch !== 'function') throw invalidOption('fetch', fetch, 'pass a function that reads the value')
  if (options?.signal != null && typeof options.signal.throwIfAborted !== 'function')
    throw invalidOption('lookup.signal', options.signal, 'pass an AbortSignal')
  return options && readEntryOptions(options as never, 'lookup', ['signal', 'forceFresh'])
}

/** Checks the arguments of lookups that do not use them; options once per object. */
export class UnusedArguments {
  readonly #checked = new WeakSet<object>()

  check<T>(fetch: Fetch<T>, options: LookupOptions<T> | undefined): void {
    if (typeof fetch === 'function' && (options === undefined || this.#checked.has(options))) return
    readLookup(fetch, options)
    if (options !== undefined) this.#checked.add(options)
  }
}
