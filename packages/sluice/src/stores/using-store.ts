import type { Store } from './store.ts'

/**
 * Makes something that uses a store. A Redis store connects when it is created, so if this fails and nothing else uses
 * the store, its connection is released: whoever retries with a new store would otherwise keep one for each attempt,
 * and the process could not end.
 */
export async function usingStore<T>(store: Store | undefined, make: () => Promise<T>): Promise<T> {
  try {
    return await make()
  } catch (error) {
    if (typeof store?.use === 'function') await store.use()()
    throw error
  }
}
