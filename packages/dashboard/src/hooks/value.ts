import { useEffect, useState } from 'preact/hooks'

/** A value that several components show. */
export interface Value<T> {
  get(): T
  set(next: T): void
  listen(listener: (value: T) => void): () => void
}

export function createValue<T>(first: T): Value<T> {
  let value = first
  const listeners = new Set<(value: T) => void>()
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return
      value = next
      for (const listener of listeners) listener(next)
    },
    listen(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** The current value; renders again when it changes. */
export function useValue<T>(source: Value<T>): T {
  const [value, setValue] = useState(source.get())
  useEffect(() => {
    setValue(() => source.get())
    return source.listen((next) => setValue(() => next))
  }, [source])
  return value
}
