import type { NamedToken } from '../../config/secrets/tokens.ts'

/** What an operator may do: everything, or look at everything. */
export type Role = 'admin' | 'read'

/** Who has a token, and what it is good for. */
export interface Person extends NamedToken {
  readonly role: Role
}
