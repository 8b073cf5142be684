import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { reservePort, startNginx, waitFor } from 'sluice/testing'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const page = readFileSync(join(root, 'docs/proxies.md'), 'utf8')

/** A block of docs/proxies.md by what stands behind its three backticks. */
export function recipe(info: string): string {
  const found = new RegExp(`^\`\`\`${info}\\n(.*?)^\`\`\``, 'ms').exec(page)?.[1]
  if (found === undefined) throw new Error(`docs/proxies.md has no block ${info}`)
  return found
}

export interface StartedProxy {
  readonly url: string
  stop(): Promise<unknown>
}

/** Which of the two forms of a recipe. */
export type Away = 'fail open' | 'fail closed'

/** Starts a proxy by its recipe, with these ports of the daemon and the app instead of those in it. */
export type StartProxy = (daemon: number, app: number, away: Away) => Promise<StartedProxy>

const withPorts = (text: string, daemon: number, app: number): string =>
  text.replaceAll('127.0.0.1:8440', `127.0.0.1:${daemon}`).replaceAll('127.0.0.1:3000', `127.0.0.1:${app}`)

export const nginx: StartProxy = (daemon, app, away) => {
  const server = recipe('nginx server').replace('return 204;', away === 'fail open' ? 'return 204;' : 'return 403;')
  return startNginx(withPorts(server, daemon, app), { http: withPorts(recipe('nginx http'), daemon, app) })
}

export const haproxy: StartProxy = async (daemon, app, away) => {
  const port = await freePort()
  const config = withPorts(recipe('haproxy'), daemon, app)
    .replace('/etc/haproxy/sluice.lua', join(root, 'deploy/haproxy/sluice.lua'))
    .replace('bind :80', `bind 127.0.0.1:${port}`)
    .replace(/^ *http-request return status 503 if .*away.*\n/m, (line) => (away === 'fail open' ? '' : line))
  return start('haproxy', config, (file) => ['-f', file], port)
}

export const caddy: StartProxy = async (daemon, app, away) => {
  const [port, yes] = [await freePort(), await freePort()]
  const config = withPorts(recipe('caddy'), daemon, app)
    .replace(':80 {', `http://127.0.0.1:${port} {`)
    .replace(' 127.0.0.1:8442 {', away === 'fail open' ? ` 127.0.0.1:${yes} {` : ' {')
    .replace('http://127.0.0.1:8442', `http://127.0.0.1:${yes}`)
  return start(
    'caddy',
    `{\n\tadmin off\n}\n${config}`,
    (file) => ['run', '--adapter', 'caddyfile', '--config', file],
    port,
  )
}

export function isInstalled(command: string): boolean {
  return spawnSync(command, [command === 'caddy' ? 'version' : '-v']).error === undefined
}

async function start(
  command: string,
  config: string,
  args: (file: string) => readonly string[],
  port: number,
): Promise<StartedProxy> {
  const folder = mkdtempSync(join(tmpdir(), `sluice-${command}-`))
  const file = join(folder, 'config')
  writeFileSync(file, config)
  const child = spawn(command, args(file), { env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder } })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk))
  const ended = once(child, 'exit')
  await waitFor(
    () => {
      if (child.exitCode !== null) throw new Error(said)
      return isListening(port)
    },
    { describe: `${command} to listen` },
  ).catch((error) => {
    throw new Error(`${command} does not start: ${said}`, { cause: error })
  })
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true })
    },
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('connect', () => socket.destroy())
    socket.once('error', () => resolve(false))
  })
}

async function freePort(): Promise<number> {
  const { port, release } = await reservePort()
  await release()
  return port
}
