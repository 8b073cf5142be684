import { readFileSync } from 'node:fs'
import { wrongOption } from '../option-error.ts'

/** A token from a file, or else from a variable; undefined when there is neither. */
export function tokenFrom(
  file: { readonly value: string | undefined; readonly from: string | undefined },
  variable: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (file.value === undefined && (env[variable] ?? '') === '') return undefined
  // An empty file is a secret that was not written yet, never a wish to do without one.
  const token = file.value === undefined ? env[variable]! : readToken(file.value, file.from ?? variable)
  if (token.length < 8 || /\s/.test(token)) {
    const remedy = 'use at least 8 characters without white space, such as from: openssl rand -hex 32'
    throw wrongOption(file.from ?? variable, '***', remedy)
  }
  return token
}

/** The tokens of callers of the proxy: the current one, and the next one while they are rotated. */
export function internalTokens(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return [env.INTERNAL_SERVICE_TOKEN, env.INTERNAL_SERVICE_TOKEN_NEXT].filter((token) => token) as string[]
}

function readToken(file: string, from: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw wrongOption(from, file, `give a file that can be read: ${(error as Error).message}`)
  }
}
