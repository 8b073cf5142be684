import type { Logger } from 'pino'
import type { ServerConfig } from './config/config.ts'
import { newToken, removeTokenFile, tokenFileOf, writeTokenFile } from './config/secrets/token-file.ts'
import type { NamedToken, Person, Role, Tokens } from './config/secrets/tokens.ts'
import { requireToken } from './http/access/access.ts'
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
  const admins = (): readonly Person[] => [...peopleOf(adminTokens, 'admin'), ...generated]
  const people = (): readonly Person[] => [...admins(), ...peopleOf(readTokens, 'read')]
  const wrongSecrets = new WrongSecrets({
    identity: { trustedProxies, forwardedBy },
    onTooMany: (network) => log.warn({ network }, 'many wrong tokens or codes'),
  })
  const page = new PageAccess(people, tls !== undefined, wrongSecrets)
  const deciders = (): readonly NamedToken[] => [...(decideTokens?.current ?? []), ...admins()]
  const access = {
    admin: page.check('admin'),
    read: page.check('read'),
    metrics: metricsTokens
      ? requireToken('metrics', () => [...metricsTokens.current, ...people()], wrongSecrets)
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

function peopleOf(tokens: Tokens | undefined, role: Role): readonly Person[] {
  return tokens?.current.map((each) => ({ ...each, role })) ?? []
}
