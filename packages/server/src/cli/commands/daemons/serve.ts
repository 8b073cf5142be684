import { type Flags, resolveConfig, type ServerConfig } from '../../../config/config.ts'
import { configOptions } from '../../../config/daemon-options.ts'
import { type Daemon, serve } from '../../../serve.ts'
import { validate } from '../../../validate.ts'
import { version } from '../../../version.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { banner, pageUrl } from '../../serve/banner.ts'
import { openLog } from '../../serve/human-log.ts'
import { listenError } from '../../serve/listen-error.ts'
import { endSignal, reloadOnHangup } from '../../serve/signals.ts'
import { countOf } from '../../terminal/numbers.ts'
import { safe } from '../../terminal/text.ts'

/** Runs the daemon until SIGTERM or SIGINT, or with `--validate` only checks that it could run. */
export async function serveCommand(input: Input, terminal: Terminal): Promise<ExitCode> {
  const config = resolveConfig(flagsOf(input), terminal.env)
  if (config.validateOnly) return check(config, terminal)
  // Signals are heard from before it listens: one that comes while it starts ends it as soon as it has started.
  const ended = endSignal(() => process.exit(130), terminal.live)
  const giveUp = new AbortController()
  void ended.then(() => giveUp.abort())
  let daemon: Daemon | undefined
  // Heard while it starts too: Node would end at once.
  reloadOnHangup(terminal, { reload: () => daemon?.reload() })
  try {
    daemon = await start(config, terminal, giveUp.signal)
  } catch (error) {
    if ((error as Error).name === 'AbortError') return 0
    throw error
  }
  if (terminal.live && process.stdin.isTTY) offerLinks(daemon, terminal)
  const signal = await ended
  // A terminal that is closed cannot be written to.
  if (signal !== 'SIGHUP') announce(terminal, `${signal}: answering what was accepted; once more ends at once`)
  await daemon.close()
  return 0
}

function flagsOf(input: Input): Flags {
  const given = Object.entries(configOptions).filter(([name]) => input.given(name))
  return Object.fromEntries(
    given.map(([name, { value }]) => [name, value === undefined ? input.flag(name) : input.text(name)]),
  )
}

async function start(config: ServerConfig, terminal: Terminal, signal: AbortSignal): Promise<Daemon> {
  // On a terminal the banner says all that the first lines of the log would.
  const log = openLog(config.logLevel, terminal)
  try {
    return await serve(config, {
      log,
      otherPort: terminal.live,
      signal,
      onListening(daemon) {
        const { url, adminUrl, grpcUrl = null, proxyUrl = null, service, policySource, store } = daemon
        if (terminal.json) terminal.result({ url, adminUrl, grpcUrl, proxyUrl, service, policySource, store }, () => {})
        else if (terminal.live) terminal.lines(banner(daemon, config, version, terminal.style))
        // A code that signs in must not get into a log.
        else
          terminal.note(
            `sluice ${version}: page ${terminal.liveProgress ? pageUrl(daemon) : adminUrl}  API ${url}/v1/check  ${proxyUrl === null ? '' : `proxy ${proxyUrl}  `}store ${store}  policy ${policySource}`,
          )
      },
    })
  } catch (error) {
    throw listenError(error as NodeJS.ErrnoException, config) ?? error
  }
}

/** Codes for the page last a minute; Enter prints a link with a new one. */
function offerLinks(daemon: Daemon, terminal: Terminal): void {
  process.stdin.on('data', () => announce(terminal, `page  ${pageUrl(daemon)}`)).unref()
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
      safe(
        `  policy  ${found.policySource}: service ${found.service}, version ${found.version}, ${countOf(found.rules.length, 'rule')}`,
      ),
    )
    terminal.line(safe(`  store   ${found.store}`))
    for (const warning of found.warnings) terminal.line(`${style.warn('!')} ${safe(warning)}`)
  })
  return found.warnings.length === 0 ? 0 : 1
}
