import { configOptions, type Flags, resolveConfig, type ServerConfig } from '../../config/config.ts'
import { createLog } from '../../log/create-log.ts'
import { type Daemon, serve, validate } from '../../serve.ts'
import { CliError } from '../cli-error.ts'
import type { ExitCode } from '../exit-codes.ts'
import type { Input } from '../parse.ts'
import { banner } from '../serve/banner.ts'
import { humanLog } from '../serve/human-log.ts'
import { endSignal } from '../serve/signals.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { version } from '../version.ts'

/** Runs the daemon until it is told to end, or with `--validate` only checks that it could run. */
export async function serveCommand(input: Input, terminal: Terminal): Promise<ExitCode> {
  const config = resolveConfig(flagsOf(input), terminal.env)
  if (config.validateOnly) return check(config, terminal)
  const daemon = await start(config, terminal)
  const signal = await endSignal(() => process.exit(130))
  announce(terminal, `${signal}: answering what was accepted; once more ends at once`)
  await daemon.close()
  return 0
}

function flagsOf(input: Input): Flags {
  const given = Object.keys(configOptions).filter((name) => input.given(name))
  return Object.fromEntries(given.map((name) => [name, name === 'validate' ? input.flag(name) : input.text(name)]))
}

async function start(config: ServerConfig, terminal: Terminal): Promise<Daemon> {
  // On a terminal the banner says all that the first lines of the log would.
  const log = terminal.live ? { log: createLog(config.logLevel, humanLog(terminal)) } : {}
  try {
    const daemon = await serve(config, log)
    const { url, grpcUrl = null, service, policySource, store } = daemon
    if (terminal.json) terminal.result({ url, grpcUrl, service, policySource, store }, () => {})
    else if (terminal.live) for (const line of banner(daemon, config, version, terminal.style)) terminal.line(line)
    else terminal.note(`sluice ${version}: page ${url}/  API ${url}/v1/check  store ${store}  policy ${policySource}`)
    return daemon
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new CliError(2, 'port-taken', `port ${config.port} of ${config.host} is taken`, {
      hint: 'choose another with --port; 0 takes any free one',
      cause: error,
    })
  }
}

function announce(terminal: Terminal, text: string): void {
  if (terminal.live) terminal.line(terminal.style.faint(text))
}

async function check(config: ServerConfig, terminal: Terminal): Promise<ExitCode> {
  const found = await validate(config)
  terminal.result({ valid: true, ...found }, () => {
    const { style } = terminal
    const but = found.warnings.length === 0 ? '' : ', but'
    terminal.line(`${style.good('✓')} configuration and policy are good${but}`)
    terminal.line(
      `  policy  ${found.policySource}: service ${found.service}, version ${found.version}, ${found.rules.length} rules`,
    )
    terminal.line(`  store   ${found.store}`)
    for (const warning of found.warnings) terminal.line(`${style.warn('!')} ${warning}`)
  })
  return found.warnings.length === 0 ? 0 : 1
}
