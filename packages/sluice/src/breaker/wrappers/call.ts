import { invalidOption } from '../../core/errors.ts'

/**
 * What a guarded function gets: the caller's signal, if there is one. It fits as the options of `fetch` and of most
 * clients.
 */
export interface Call {
  readonly signal?: AbortSignal
}

/** Wraps a function in one with the same parameters that returns a promise. Wrappers nest in any order. */
export type Wrapper = <This, Args extends unknown[], Result>(
  fn: (this: This, ...args: Args) => Result | PromiseLike<Result>,
) => (this: This, ...args: Args) => Promise<Result>

/** Refuses what cannot be called, most often the promise of a call that was already made. */
export function checkCallable(owner: string, fn: unknown): void {
  if (typeof fn === 'function') return
  throw invalidOption(`${owner} fn`, fn, 'pass a function that makes the call, such as () => fetch(url)')
}

/**
 * The signal of a call: its last argument, or the `signal` of its last argument. This is how most clients take one, so
 * wrapped functions need no special form.
 */
export function signalOf(args: readonly unknown[]): AbortSignal | undefined {
  const last = args.at(-1)
  if (typeof last !== 'object' || last === null) return undefined
  if (last instanceof AbortSignal) return last
  const { signal } = last as Call
  return signal instanceof AbortSignal ? signal : undefined
}

/** Whether the function that is called with these arguments would see another signal in place of the current one. */
export function takesSignal(args: readonly unknown[]): boolean {
  const last = args.at(-1)
  if (typeof last !== 'object' || last === null) return false
  return last instanceof AbortSignal || (isPlain(last) && 'signal' in last)
}

/**
 * The arguments with another signal where `takesSignal` found the place for one. Arguments are never added, only
 * replaced.
 */
export function withSignal<Args extends unknown[]>(args: Args, signal: AbortSignal): Args {
  const last = args.at(-1)
  const replaced = last instanceof AbortSignal ? signal : { ...(last as object), signal }
  return [...args.slice(0, -1), replaced] as Args
}

/** A copy of an object that has a class, such as a `Request`, would lose that class. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
