/**
 * What `await using` calls. Runtimes without it get what compilers then use in its place.
 *
 * @see https://github.com/tc39/proposal-explicit-resource-management
 */
export const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? (Symbol.for('Symbol.asyncDispose') as typeof Symbol.asyncDispose)
