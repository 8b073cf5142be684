import { SluiceError } from '../core/errors.ts'
import { isIgnoredPromise } from '../core/ignored-promise.ts'

/**
 * Returns what a function of the app answered, unless that is a promise: where an answer is needed at once, a promise
 * would count as true, or as an object without the field that is looked for.
 */
export function refusePromise<Value>(name: string, value: Value): Value {
  if (!isIgnoredPromise(value)) return value
  throw new SluiceError('SLUICE_WRONG_USE', `${name} returned a promise; it has to answer at once`)
}
