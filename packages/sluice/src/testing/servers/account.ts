/** The account a server runs under. */
export interface Account {
  readonly uid: number
  readonly gid: number
}

/**
 * `nobody`, when the tests run as root: PostgreSQL and MongoDB refuse to run as root, or should not. Undefined
 * otherwise: the server then runs as whoever runs the tests.
 */
export function unprivileged(): Account | undefined {
  return process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined
}
