import { execFile } from 'node:child_process'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { checkOptionNames } from '../../core/check-options.ts'
import { unprivileged } from './account.ts'
import { needBinary, versionFolders } from './binary.ts'
import { withFreePorts } from './ports.ts'
import { startProcess } from './process.ts'

const run = promisify(execFile)

/** A PostgreSQL of the test's own on a free loopback port, with a superuser `test` who needs no password. */
export interface PostgresServer {
  readonly port: number
  readonly url: string
  readonly pid: number
  freeze(): Promise<void>
  thaw(): void
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Ends the server and starts it on the same port with the same data. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** Starts a PostgreSQL with an empty database; as `nobody` when the tests run as root. */
export function startPostgres(options: { readonly args?: readonly string[] } = {}): Promise<PostgresServer> {
  checkOptionNames('startPostgres', options, ['args'])
  const remedy = 'install PostgreSQL (Debian: apt-get install postgresql; macOS: brew install postgresql)'
  const folders = [
    ...versionFolders('/usr/lib/postgresql', /^\d+$/, 'bin'),
    ...versionFolders('/opt/homebrew/opt', /^postgresql/, 'bin'),
    ...versionFolders('/usr/local/opt', /^postgresql/, 'bin'),
  ]
  const command = needBinary('postgres', remedy, folders)
  const initdb = needBinary('initdb', remedy, folders)
  const account = unprivileged()
  return withFreePorts(1, async ([port]) => {
    const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off', 'shared_buffers=16MB']
    const process = await startProcess({
      name: 'postgres',
      command,
      args: (folder) => [
        ...['-D', join(folder, 'data'), '-p', `${port}`],
        ...settings.flatMap((setting) => ['-c', setting]),
        ...(options.args ?? []),
      ],
      account,
      prepare: async (folder) => {
        const args = ['-D', join(folder, 'data'), '-U', 'test', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--locale=C']
        await run(initdb, args, { cwd: folder, ...account })
      },
      ready: () => logsIn(port!),
      // What PostgreSQL calls a fast shutdown: it does not wait for clients to leave.
      stopSignal: 'SIGINT',
      wholeTree: true,
    })
    return {
      port: port!,
      url: `postgres://test@127.0.0.1:${port}/postgres`,
      get pid() {
        return process.pid
      },
      freeze: () => process.freeze(),
      thaw: () => process.thaw(),
      kill: (signal) => process.kill(signal),
      async restart() {
        await process.kill('SIGINT')
        await process.start()
      },
      stop: () => process.stop(),
    }
  })
}

/** Sends the first message of the PostgreSQL protocol: `R` means welcome, `E` that the server is still starting. */
function logsIn(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const body = Buffer.from('\0\x03\0\0user\0test\0database\0postgres\0\0', 'latin1')
    const length = Buffer.alloc(4)
    length.writeInt32BE(body.length + 4)
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(Buffer.concat([length, body])))
    socket.setTimeout(2000, () => socket.destroy(new Error(`no answer from PostgreSQL on port ${port}`)))
    socket.once('data', (chunk) => {
      socket.destroy()
      resolve(chunk[0] === 0x52)
    })
    socket.once('error', reject)
    socket.once('close', () => resolve(false))
  })
}
