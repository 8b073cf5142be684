import { basename, relative } from 'node:path'
import type { ServerConfig } from '../../config/config.ts'
import type { Daemon } from '../../serve.ts'
import { daemonOptions } from '../options.ts'
import type { Style } from '../terminal/style.ts'
import { pad } from '../terminal/text.ts'

/** What a person sees first: where everything is, and what to try. */
export function banner(daemon: Daemon, config: ServerConfig, version: string, style: Style): string[] {
  const isExample = config.policy.kind === 'example'
  const port = Number(new URL(daemon.url).port)
  const moved = config.port !== 0 && port !== config.port ? style.warn(`  (port ${config.port} is taken)`) : ''
  const row = (name: string, text: string): string => `  ${pad(style.faint(name), 9, 'left')}${text}`
  return [
    '',
    `  ${style.strong('sluice')} ${version} is up`,
    '',
    row('page', `${style.accent(pageUrl(daemon))}${moved}`),
    row('', style.faint('signs in once, within a minute; Enter prints another link')),
    row('API', `${style.accent(`${daemon.url}/v1/check`)}`),
    row('', style.faint(`described by ${daemon.adminUrl}/openapi.json`)),
    ...(daemon.grpcUrl === undefined
      ? []
      : [row('Envoy', `${style.accent(daemon.grpcUrl)}  ${style.faint('rate-limit service, gRPC')}`)]),
    ...(daemon.proxyUrl === undefined
      ? []
      : [
          row(
            'proxy',
            `${style.accent(daemon.proxyUrl)}  ${style.faint("holds the limits of the policy's upstreams")}`,
          ),
        ]),
    row(
      'store',
      daemon.store === 'memory'
        ? `memory  ${style.faint('forgotten when it ends; --redis URL shares it among replicas')}`
        : daemon.store,
    ),
    row('policy', `${daemon.policySource}${isExample ? `  ${style.faint('--policy sluice.yaml for your own')}` : ''}`),
    row(
      'admin',
      daemon.tokenFile === undefined
        ? 'with the token'
        : `commands of this user find the token by themselves  ${style.faint(daemon.tokenFile)}`,
    ),
    '',
    ...(isExample ? tries(daemon.url, style) : []),
    `  ${style.faint('Ctrl-C answers what was accepted and ends; twice ends at once.')}`,
    '',
  ]
}

/**
 * The code works once and for a minute, so that it is harmless in the history of the browser; it stands behind #, which
 * browsers do not send.
 */
export function pageUrl(daemon: Daemon): string {
  return `${daemon.adminUrl}/#code=${daemon.signInCode()}`
}

function tries(url: string, style: Style): string[] {
  const elsewhere = url === daemonOptions.url?.default ? '' : ` --url ${url}`
  return [
    `  ${style.strong('Try it')}`,
    `    curl -d '{"key":"user:1","rule":"per-user"}' ${url}/v1/check`,
    `    ${command()} check user:1 --rule per-user${elsewhere}`,
    `    ${command()} top${elsewhere}`,
    '',
  ]
}

/** How this program was called, so that what is printed can be pasted. */
function command(): string {
  const [, script = ''] = process.argv
  return basename(script) === 'cli.js' ? `node ${relative(process.cwd(), script)}` : 'sluice'
}
