import { SluiceError } from '../core/errors.ts'

interface BuiltIns {
  readonly fs: typeof import('node:fs')
  readonly 'fs/promises': typeof import('node:fs/promises')
  readonly path: typeof import('node:path')
  readonly worker_threads: typeof import('node:worker_threads')
}

/**
 * A module that is built into Node. It is resolved when needed: an import would break bundles for runtimes that do not
 * have it.
 */
export function builtIn<Name extends keyof BuiltIns>(name: Name): BuiltIns[Name] {
  const found = globalThis.process?.getBuiltinModule?.(`node:${name}`)
  if (found !== undefined) return found as unknown as BuiltIns[Name]
  throw new SluiceError('SLUICE_WRONG_USE', `this needs node:${name}, which this runtime does not have`)
}
