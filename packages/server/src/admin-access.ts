import type { Logger } from 'pino'
import type { ServerConfig } from './config/config.ts'
import { newToken, removeTokenFile, tokenFileOf, writeTokenFile } from './config/secrets/token-file.ts'
import type { NamedToken, Tokens } from './config/secrets/tokens.ts'
import { joined, requireToken } from './http/access/access.ts'
import type { Person, Role } from './http/access/person.ts'
import { PageAccess } from './http/access/session/page-access.ts'
import { WrongSecrets } from './http/access/wrong-secrets.ts'
import type { Access } from './http/api-parts.ts'

export interface AdminAccess {
  readonly access: Access
  readonly page: PageAccess
  /** The first of the admins, for whom codes on the terminal are. */
  readonly first: () => Person
  /** Leaves a generated token where the command line finds it, once the port is known. */
  publish(port: number): { readonly file: string | undefined; readonly warning: string | undefined; remove(): void }
}

/** Who may do what. Admin routes always want a token; where none is configured, one is generated. */
export function adminAccess(config: ServerConfig, log: Logger): AdminAccess {
  const { adminTokens, readTokens, decideTokens, metricsTokens, env, tls, trustedProxies, forwardedBy } = config
  const generated: readonly Person[] = adminTokens ? [] : [{ name: 'admin', role: 'admin', token: newToken() }]
  const admins = joined<Person>(peopleOf(adminTokens, 'admin'), () => generated)
  const people = joined(admins, peopleOf(readTokens, 'read'))
  const wrongSecrets = new WrongSecrets({
    identity: { trustedProxies, forwardedBy },
    onTooMany: (network) => log.warn({ network }, 'many wrong tokens or codes'),
  })
  const page = new PageAccess(people, tls !== undefined, wrongSecrets)
  const deciders = joined<NamedToken>(() => decideTokens?.current ?? none, admins)
  const access = {
    admin: page.check('admin'),
    read: page.check('read'),
    metrics: metricsTokens
      ? requireToken(
          'metrics',
          joined<NamedToken>(() => metricsTokens.current, people),
          wrongSecrets,
        )
      : () => {},
    report: requireToken('decide or admin', deciders, wrongSecrets),
    // Not counted: a client that asks for decisions must not mistake 429 for a denial.
    decide: decideTokens === undefined ? () => {} : requireToken('decide', deciders),
  }
  return {
    access,
    page,
    first: () => admins()[0]!,
    publish(port) {
      const nothing = { file: undefined, warning: undefined, remove: () => {} }
      const token = generated[0]?.token
      if (token === undefined) return nothing
      const file = tokenFileOf(port, env)
      try {
        writeTokenFile(file, token)
        return { ...nothing, file, remove: () => removeTokenFile(file, token) }
      } catch (error) {
        const warning = `The generated admin token cannot be written, so admin routes cannot be used; set SLUICE_ADMIN_TOKEN: ${(error as Error).message}`
        return { ...nothing, warning }
      }
    },
  }
}

const none: readonly never[] = []

function peopleOf(tokens: Tokens | undefined, role: Role): () => readonly Person[] {
  if (tokens === undefined) return () => none
  let [named, people]: [readonly NamedToken[], readonly Person[]] = [none, none]
  return () => {
    if (named !== tokens.current) {
      named = tokens.current
      people = named.map((each) => ({ ...each, role }))
    }
    return people
  }
}
