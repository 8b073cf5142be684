import { SluiceError } from './errors.ts'

const notFound = new Set<unknown>(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'])

/**
 * What to throw when an optional package could not be loaded: an error that names the part, the package and the remedy
 * if it is not installed; `cause` itself if it is installed and fails.
 *
 * @example await import('undici').catch((cause) => Promise.reject(missingPeer('sluice/egress', 'undici', '7', cause)))
 */
export function missingPeer(part: string, name: string, version: string, cause: unknown): unknown {
  const { code, message } = cause as { code?: unknown; message?: unknown }
  // A package that is there but lacks one of its own fails with the same code, and another name in the message. Yarn's
  // Plug'n'Play words it in its own way.
  const namesIt = [`'${name}'`, `tried to access ${name} `].some((words) => String(message).includes(words))
  if (!notFound.has(code) || !namesIt) return cause
  return new SluiceError('SLUICE_MISSING_PEER', `${part} needs ${name}: npm install ${name}@${version}`, { cause })
}
