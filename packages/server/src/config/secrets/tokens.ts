import { readFileSync } from 'node:fs'
import { FileBacked } from '../../connections/file-backed.ts'
import { wrongOption } from '../../connections/option-error.ts'
import type { Environment, Given } from '../read-options.ts'

/** A token and who has it. */
export interface NamedToken {
  readonly name: string
  readonly token: string
}

/** What an operator may do: everything, or look at everything. */
export type Role = 'admin' | 'read'

/** Who has a token, and what it is good for. */
export interface Person extends NamedToken {
  readonly role: Role
}

/** Tokens that can change while the process runs. */
export type Tokens = FileBacked<readonly NamedToken[]>

const least = 8

/**
 * The tokens of a file, which has either one token, then of `name`, or one `name token` per line; or else the one of a
 * variable. Undefined when there is neither.
 */
export function tokensFrom(file: Given, variable: string, env: Environment, name: string): Tokens | undefined {
  const text = env[variable] ?? ''
  if (file.value !== undefined) {
    const { value, from = variable } = file
    return new FileBacked([value], () => tokensIn(readSecret(value, from), from, value, name))
  }
  if (text === '') return undefined
  if (!isToken(text)) throw wrongOption(variable, '***', remedy)
  return new FileBacked([], () => [{ name, token: text }])
}

/**
 * The tokens of callers of the proxy: those of `SLUICE_PROXY_TOKENS_FILE` with the names of their owners, and the one
 * that all others share, with the next one while it is rotated.
 */
export function proxyTokens(env: Environment): Tokens {
  const shared = [env.INTERNAL_SERVICE_TOKEN, env.INTERNAL_SERVICE_TOKEN_NEXT].filter((token) => token) as string[]
  const internal = shared.map((token) => ({ name: 'internal', token }))
  const [from, file = ''] = ['SLUICE_PROXY_TOKENS_FILE', env.SLUICE_PROXY_TOKENS_FILE]
  if (file === '') return new FileBacked([], () => internal)
  return new FileBacked([file], () => [...namedTokens(linesOf(readSecret(file, from)), from, file), ...internal])
}

const remedy = `use at least ${least} characters without white space, such as from: openssl rand -hex 32`

function tokensIn(text: string, from: string, file: string, name: string): readonly NamedToken[] {
  const lines = linesOf(text)
  const [only = ''] = lines.map(([, line]) => line)
  if (lines.length > 1 || /\s/.test(only)) return namedTokens(lines, from, file)
  // An empty file is a secret that was not written yet, never a wish to do without one.
  if (!isToken(only)) throw wrongOption(from, '***', remedy)
  return [{ name, token: only }]
}

/** One `name token` per line. A name may have several tokens, for rotation. */
function namedTokens(lines: readonly (readonly [number, string])[], from: string, file: string): NamedToken[] {
  const tokens = lines.map(([at, line]) => {
    const [name, token = '', ...rest] = line.split(/\s+/)
    if (!isToken(token) || rest.length > 0)
      throw wrongOption(from, file, `write "name token" in line ${at}, with a token of at least ${least} characters`)
    return { name: name!, token }
  })
  // An empty file is a secret that was not written yet, never a wish to do without one.
  if (tokens.length === 0) throw wrongOption(from, file, 'write one "name token" per line')
  const twice = tokens.find(({ token, name }) => tokens.some((each) => each.token === token && each.name !== name))
  if (twice) throw wrongOption(from, file, `give ${twice.name} a token of its own`)
  return tokens
}

/** What is neither empty nor a comment, with the numbers of the lines. */
function linesOf(text: string): (readonly [number, string])[] {
  return text
    .split('\n')
    .map((line, at) => [at + 1, line.trim()] as const)
    .filter(([, line]) => line !== '' && !line.startsWith('#'))
}

function isToken(text: string): boolean {
  return text.length >= least && !/\s/.test(text)
}

/** The text of a file that holds a secret, without white space around it. */
export function readSecret(file: string, from: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw wrongOption(from, file, `give a file that can be read: ${(error as Error).message}`)
  }
}
