/**
 * Freezes plain objects and arrays recursively. All readers of a key share one value: an attempt to change it throws a
 * TypeError instead of changing what the others read. The contents of Map, Set, Date and Buffer cannot be frozen.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || Object.isFrozen(value)) return value
  Object.freeze(value)
  if (value instanceof Map) for (const [key, item] of value) [deepFreeze(key), deepFreeze(item)]
  else if (value instanceof Set) for (const item of value) deepFreeze(item)
  else for (const name in value) deepFreeze((value as Record<string, unknown>)[name])
  return value
}
