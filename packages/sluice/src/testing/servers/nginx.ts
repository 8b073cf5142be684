import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { checkOptionNames } from '../../core/check-options.ts'
import { unprivileged } from './account.ts'
import { needBinary } from './binary.ts'
import { withFreePorts } from './ports.ts'
import { startProcess } from './process.ts'

/** An nginx of the test's own on a free loopback port. */
export interface NginxServer {
  readonly port: number
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
}

export interface NginxOptions {
  /** Further lines for the `http` block, such as an `upstream`. */
  readonly http?: string
}

/**
 * Starts nginx in one process, with what it writes under its own folder.
 *
 * @example
 * const nginx = await startNginx('location / { return 204; }')
 */
export function startNginx(configBody: string, options: NginxOptions = {}): Promise<NginxServer> {
  checkOptionNames('startNginx', options, ['http'])
  const remedy = 'install nginx (Debian: apt-get install nginx; macOS: brew install nginx)'
  const command = needBinary('nginx', remedy, ['/usr/sbin', '/opt/homebrew/bin'])
  return withFreePorts(1, async ([port]) => {
    const process = await startProcess({
      name: 'nginx',
      command,
      args: (folder) => ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'],
      account: unprivileged(),
      prepare: (folder) => writeFileSync(join(folder, 'nginx.conf'), nginxConfig(port!, configBody, options)),
      ready: () => answers(port!),
    })
    return {
      port: port!,
      url: `http://127.0.0.1:${port}`,
      get pid() {
        return process.pid
      },
      stop: () => process.stop(),
    }
  })
}

function nginxConfig(port: number, body: string, { http = '' }: NginxOptions): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
daemon off;
master_process off;
pid nginx.pid;
error_log stderr;
events { worker_connections 512; }
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${name};`).join('\n  ')}
  ${http}
  server {
    listen 127.0.0.1:${port};
    ${body}
  }
}
`
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
