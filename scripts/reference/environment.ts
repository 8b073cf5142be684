import { commands } from '../../packages/server/src/cli/commands.ts'
import { knownVariables } from '../../packages/server/src/config/config.ts'
import { code, page, prose, table } from './markdown.ts'

/** Variables without an option of the same meaning: secrets, which do not belong on a command line, and common ones. */
const others: Readonly<Record<string, string>> = {
  SLUICE_ADMIN_TOKEN: 'the token of admins: of the daemon, and of commands that ask it',
  SLUICE_READ_TOKEN: 'a token of people who may look and change nothing',
  SLUICE_DECIDE_TOKEN: 'a token that checks, holds and `/v1/auth` want',
  SLUICE_METRICS_TOKEN: 'a token that `/metrics` wants',
  SLUICE_COLLECT_TOKEN: 'the token that senders to `sluice collect` need',
  SLUICE_PROXY_TOKENS_FILE: 'a file with tokens of those who may call the proxy, one `name token` per line',
  INTERNAL_SERVICE_TOKEN: 'a token that the proxy accepts, shared by services',
  INTERNAL_SERVICE_TOKEN_NEXT: 'the next of these tokens, accepted as well while it is being changed',
  DATABASE_URL: 'the database of `--lookup`, and of the policy where nothing else names one',
  NO_COLOR: 'no colours, as `--no-color`',
  FORCE_COLOR: 'colours also where the output is not a terminal',
}

interface Row {
  readonly env: readonly string[]
  readonly flag: string
  readonly otherwise: string
  readonly about: string
  readonly readBy: string[]
}

/** Every option that can also be a variable, as its first command describes it, with all that read it. */
function optionRows(): Row[] {
  const rows: Row[] = []
  for (const { name: command, options } of commands) {
    for (const [name, { env = [], default: otherwise = '', about, choices }] of Object.entries(options)) {
      if (env.length === 0) continue
      const known = rows.find((row) => row.env.join() === env.join())
      if (known) {
        known.readBy.push(command)
        continue
      }
      const oneOf = choices === undefined ? '' : ` (${choices.join(', ')})`
      rows.push({ env, flag: `--${name}`, otherwise, about: `${about}${oneOf}`, readBy: [command] })
    }
  }
  return rows
}

/** Who reads it besides the command of the table: a few by name, many by their number. */
function readers([first = '', ...more]: readonly string[]): string {
  const who = more.length > 4 ? `${more.length} more commands` : more.map(code).join(', ')
  if (first === 'serve') return more.length === 0 ? '' : ` Also for ${who}.`
  return ` For ${code(first)}${more.length === 0 ? '' : ` and ${who}`}.`
}

const sentence = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}.`

const isDaemon = ({ readBy }: Row): boolean => readBy[0] === 'serve'

/** Every environment variable of the daemon and the command line, from their tables of options. */
export function environmentPage(): string {
  const rows = optionRows()
  const told = new Set([...rows.flatMap(({ env }) => env), ...Object.keys(others)])
  const untold = knownVariables.filter((name) => !told.has(name))
  if (untold.length > 0) throw new Error(`scripts/reference/environment.ts does not tell about ${untold.join(', ')}`)
  const tableOf = (some: readonly Row[]): string[] =>
    table(
      ['variable, flag', 'default', 'meaning'],
      some.map(({ env, flag, otherwise, about, readBy }) => [
        [...env, flag].map(code).join('<br>'),
        prose(otherwise),
        `${prose(sentence(about))}${readers(readBy)}`,
      ]),
    )
  return page([
    '# Environment variables',
    '',
    'Every variable that the daemon and the command line read. This page is made from their tables of options. The library itself reads none, except where a policy names one.',
    '',
    '```sh no-run',
    'SLUICE_REDIS=redis://localhost SLUICE_POLICY=sluice.yaml npx @sluice/server serve',
    '```',
    '',
    'A flag comes before a variable, and a variable before the [configuration file](../cli.md#starting-the-daemon). Of several names the first that is set counts. An empty variable is as good as none. A variable that begins with `SLUICE_` and is not here is reported, or refused where ignoring it would be dangerous.',
    '',
    '## The daemon',
    '',
    ...tableOf(rows.filter(isDaemon)),
    '## Commands',
    '',
    ...tableOf(rows.filter((row) => !isDaemon(row))),
    '## Without a flag',
    '',
    ...table(
      ['variable', 'meaning'],
      Object.entries(others).map(([name, about]) => [code(name), about]),
    ),
    'A rule with `tier: { env: true }` reads `RATE_LIMIT_TIER_<ID>` and `RATE_LIMIT_TIER`: [tiers and plans](../how-to/tiers.md).',
  ])
}
