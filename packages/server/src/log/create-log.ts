import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'
import type { LogLevel } from '../config/config.ts'
import { hideSecrets } from '../config/secrets/hide-secrets.ts'

const secretFields = ['password', 'token', 'adminToken', 'authorization', 'cookie', 'secret', 'apiKey', 'x-api-key']

/**
 * The daemon's log: one JSON object per line; fields that hold secrets are left out, and so are the secrets in URLs.
 */
export function createLog(level: LogLevel, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { name: 'sluice' },
    // Collectors of logs expect names of levels and RFC 3339.
    formatters: { level: (label: string) => ({ level: label }) },
    timestamp: stdTimeFunctions.isoTime,
    redact: {
      paths: secretFields.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]),
      censor: '***',
    },
    serializers: { err: errorFields },
    hooks: {
      logMethod(
        this: Logger,
        args: Parameters<Logger['info']>,
        method: (...given: Parameters<Logger['info']>) => void,
      ) {
        method.apply(this, args.map((arg) => (typeof arg === 'string' ? hideSecrets(arg) : arg)) as typeof args)
      },
    },
  }
  return destination === undefined ? pino(options) : pino(options, destination)
}

function errorFields(error: Error): Record<string, unknown> {
  const { code } = error as { code?: unknown }
  return {
    type: error.name,
    message: hideSecrets(error.message),
    ...(code === undefined ? {} : { code }),
    stack: hideSecrets(error.stack ?? ''),
  }
}
