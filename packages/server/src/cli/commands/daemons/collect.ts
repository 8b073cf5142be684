import { collect } from '../../../collect/collect.ts'
import { knownVariables } from '../../../config/config.ts'
import { redisFrom } from '../../../config/redis-from.ts'
import { readTls } from '../../../config/secrets/tls.ts'
import { tokensFrom } from '../../../config/secrets/tokens.ts'
import { unknownVariables } from '../../../config/variables.ts'
import { wrongUse } from '../../cli-error.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { openLog } from '../../serve/human-log.ts'
import { listenError } from '../../serve/listen-error.ts'
import { endSignal, reloadOnHangup } from '../../serve/signals.ts'

/** Runs a collector until it receives SIGTERM or SIGINT. */
export async function collectCommand(input: Input, terminal: Terminal): Promise<ExitCode> {
  const [file, url] = [input.text('file'), input.text('forward')]
  if (file !== undefined && url !== undefined) throw wrongUse('give either --file or --forward')
  if (url !== undefined) checkForward(url)
  const path = `/${(input.text('path') ?? '/v1/events').replace(/^\/+|\/+$/g, '')}`
  const port = input.port('port') ?? 8450
  const host = input.text('host') ?? '127.0.0.1'
  for (const warning of unknownVariables(terminal.env, knownVariables)) terminal.note(warning)
  const ended = endSignal(() => process.exit(130))
  const log = openLog(input.text('log-level'), terminal)
  const collector = await collect(
    {
      host,
      port,
      portGiven: input.given('port'),
      path,
      target: url === undefined ? { file: file ?? 'events.ndjson' } : { url },
      redis: redisFrom(input),
      policy: input.text('policy'),
      service: input.text('service') ?? 'collector',
      tokens: tokensFrom(input.read('token-file'), 'SLUICE_COLLECT_TOKEN', terminal.env, 'sender'),
      tls: readTls(input),
      drainMs: 10_000,
    },
    terminal.live,
    log,
  ).catch((error: NodeJS.ErrnoException) => {
    throw listenError(error, { host, port }) ?? error
  })
  terminal.result({ url: collector.url, target: collector.target }, () => {
    terminal.line(
      `${terminal.style.good('collecting')} at ${terminal.style.strong(collector.url)} into ${collector.target}`,
    )
    terminal.line(
      terminal.style.faint(`capacity at ${collector.url}/capacity; Ctrl-C answers what was accepted and ends`),
    )
  })
  reloadOnHangup(terminal, collector)
  await ended
  await collector.close()
  return 0
}

/** Refuses an address to which no batch could ever be posted. */
function checkForward(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw wrongUse('--forward is no URL; write https://host/path')
  if (url.username !== '' || url.password !== '')
    throw wrongUse('--forward has a user or a password, which cannot be sent; leave them out')
}
