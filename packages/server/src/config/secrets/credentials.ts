import { readFileSync } from 'node:fs'

/** By upstream: headers with the vendor's credentials. */
export type Credentials = Readonly<Record<string, Readonly<Record<string, string>>>>

/** Headers that say where a message goes and how it is framed: with another value the vendor could not read it. */
const notCredentials: ReadonlySet<string> = new Set([
  ...['connection', 'content-length', 'expect', 'host', 'keep-alive', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
])

/**
 * Reads `upstream:header=VARIABLE` and `upstream:header=@FILE` pairs: the header of every call to the upstream has the
 * value of that environment variable, or what is in that file. A returned text describes the error; it has no secret.
 */
export function credentialsOf(
  pairs: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Credentials | string {
  const credentials: Record<string, Record<string, string>> = Object.create(null)
  for (const pair of pairs) {
    const [, upstream, header, variable] = /^([\w.-]+):([\w-]+)=([A-Za-z_]\w*|@.+)$/.exec(pair) ?? []
    if (!upstream || !header || !variable)
      return `${JSON.stringify(pair)} is not UPSTREAM:HEADER=VARIABLE or UPSTREAM:HEADER=@FILE`
    if (notCredentials.has(header.toLowerCase())) return `${header} is written by the proxy itself`
    const value = variable.startsWith('@') ? textOf(variable.slice(1)) : env[variable]
    if (!value)
      return variable.startsWith('@')
        ? `the file ${variable.slice(1)} cannot be read, or is empty`
        : `it names the environment variable ${variable}, which is not set`
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these would end the header.
    if (/[\x00-\x08\x0a-\x1f\x7f]/.test(value)) return `the value of ${variable} has characters that no header can have`
    credentials[upstream] ??= Object.create(null) as Record<string, string>
    credentials[upstream]![header.toLowerCase()] = value
  }
  return credentials
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}
