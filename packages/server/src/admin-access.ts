import type { Logger } from 'pino'
import type { ServerConfig } from './config/config.ts'
import { newToken, removeTokenFile, tokenFileOf, writeTokenFile } from './config/secrets/token-file.ts'
import { requireToken } from './http/access.ts'
import type { Access } from './http/api-parts.ts'
import { PageAccess } from './http/session/page-access.ts'
import { WrongSecrets } from './http/wrong-secrets.ts'

export interface AdminAccess {
  readonly access: Access
  readonly page: PageAccess
  readonly token: string
  /** Leaves a generated token where the command line finds it, once the port is known. */
  publish(port: number): { readonly file: string | undefined; readonly warning: string | undefined; remove(): void }
}

/** Who may do what. Admin routes always want a token; where none is configured, one is generated. */
export function adminAccess(config: ServerConfig, log: Logger): AdminAccess {
  const { adminToken, decideToken, env, tls, trustedProxies, forwardedBy } = config
  const token = adminToken ?? newToken()
  const wrongSecrets = new WrongSecrets({
    identity: { trustedProxies, forwardedBy },
    onTooMany: (network) => log.warn({ network }, 'many wrong tokens or codes'),
  })
  const page = new PageAccess(token, tls !== undefined, wrongSecrets)
  const access = {
    admin: page.check,
    report: requireToken('decide or admin', decideToken === undefined ? [token] : [decideToken, token], wrongSecrets),
    // Not counted: a client that asks for decisions must not mistake 429 for a denial.
    decide: decideToken === undefined ? () => {} : requireToken('decide', [decideToken, token]),
  }
  return {
    access,
    page,
    token,
    publish(port) {
      const nothing = { file: undefined, warning: undefined, remove: () => {} }
      if (adminToken !== undefined) return nothing
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
