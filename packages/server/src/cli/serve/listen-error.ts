import type { ServerConfig } from '../../config/config.ts'
import { CliError } from '../cli-error.ts'

type Listening = Partial<Pick<ServerConfig, 'grpcHost' | 'grpcPort' | 'proxyHost' | 'proxyPort'>> &
  Pick<ServerConfig, 'host' | 'port'>

/** The error for an address that cannot be listened on; undefined when it was something else. */
export function listenError(error: NodeJS.ErrnoException, config: Listening): CliError | undefined {
  const isGrpc = /No address added|bind/.test(error.message) && error.code === undefined
  const code = error.code ?? (isGrpc ? /\b(EADDRINUSE|EADDRNOTAVAIL|EACCES)\b/.exec(error.message)?.[1] : undefined)
  const syscall = error.syscall === 'listen' || isGrpc
  if (!syscall) return undefined
  const isProxy = !isGrpc && 'port' in error && error.port === config.proxyPort && config.proxyPort !== config.port
  const [host, port, option] = isGrpc
    ? [config.grpcHost, config.grpcPort, '--grpc-port']
    : isProxy
      ? [config.proxyHost, config.proxyPort, '--proxy-port']
      : [config.host, config.port, '--port']
  const fail = (word: string, message: string, hint: string): CliError =>
    new CliError(2, word, message, { hint, cause: error })
  switch (code) {
    case 'EADDRINUSE':
      return fail(
        'port-taken',
        `port ${port} of ${host} is taken`,
        `choose another with ${option}; 0 takes any free one`,
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return fail('no-address', `${host} is not an address of this machine`, 'use 127.0.0.1, 0.0.0.0 or one of its own')
    case 'EACCES':
      return fail(
        'port-forbidden',
        `port ${port} of ${host} is not open to this user`,
        `choose one from 1024 with ${option}, or give the process CAP_NET_BIND_SERVICE`,
      )
    default:
      return isGrpc ? fail('no-grpc', `cannot listen on ${host}:${port}: ${error.message}`, `see ${option}`) : undefined
  }
}
