import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'
import type { LogLevel } from '../config/daemon-options.ts'
import { hideSecrets } from '../connections/hide-secrets.ts'

const secretFields = ['password', 'token', 'adminToken', 'authorization', 'cookie', 'secret', 'apiKey', 'x-api-key']

/** Control characters above ASCII, and marks of direction. */
const steering = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g
const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

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
      // JSON leaves these as they are, and a terminal that shows the log would follow them.
      streamWrite: (line: string) => line.replace(steering, escaped),
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
    // A mistake in a policy is the operator's: its place is in the message, and no code of ours.
    ...(code === 'SLUICE_INVALID_POLICY' ? {} : { stack: hideSecrets(error.stack ?? '') }),
  }
}
