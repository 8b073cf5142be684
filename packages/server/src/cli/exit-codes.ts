/** What the command line ends with, and what each code means; help and `docs/cli.md` print this table. */
export const exitCodes = {
  0: 'done; for check: allowed',
  1: 'a finding: denied, a policy with mistakes, a difference, something to mend',
  2: 'wrong use: an unknown command or option, or a value that cannot be',
  3: 'out of reach: the daemon, the store or the source of the policy did not answer',
  4: 'not permitted: the daemon wants another token, or Redis another user, password or database',
  70: 'a fault in Sluice itself',
  130: 'interrupted',
  141: 'the reader of the output stopped reading before the end, as `head` does',
} as const

export type ExitCode = keyof typeof exitCodes
