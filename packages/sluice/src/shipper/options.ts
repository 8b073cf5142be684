import { basename, resolve } from 'node:path'
import { checkOptionNames, withoutUndefined } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import { type Duration, parseDuration } from '../core/duration.ts'
import { invalidOption } from '../core/errors.ts'
import { systemClock } from '../runtime/system-clock.ts'
import type { BackoffRules } from './backoff/next.ts'
import { type BackoffOptions, backoffRules } from './backoff/next.ts'
import type { FileSystem } from './files/file-system.ts'
import { nodeFiles } from './files/node-files.ts'
import type { Headers } from './flush/post-batch.ts'
import type { AskCapacity, Send } from './flush/transport.ts'
import type { OnFull } from './log/room.ts'
import { maxPayloadBytes } from './log/segment/record.ts'
import type { Durability } from './log/writer.ts'
import { type ProcessIdentity, thisProcess } from './owner/process-identity.ts'

export interface ShipperOptions {
  /** The directory of the buffer. It is created if it is missing, and must be on a local disk. */
  readonly dir: string
  /** Where batches are posted. Either this or `send`. */
  readonly endpoint?: string
  /** Where capacity is requested; `<endpoint>/capacity` when left out. */
  readonly capacityEndpoint?: string
  /** Headers of every request, such as credentials; a function is called for each request. */
  readonly headers?: Headers | (() => Headers | Promise<Headers>)
  /** Sends batches instead of HTTP. */
  readonly send?: Send
  /** Requests capacity instead of HTTP; with `send` alone, 100 events every 100 ms are sent. */
  readonly capacity?: AskCapacity
  /**
   * `sync` (the default): on the disk before `ship` resolves. `interval`: synced every `syncInterval`. `os`: never
   * synced by the shipper.
   */
  readonly durability?: Durability
  readonly syncInterval?: Duration
  /** Whether it flushes by itself, and how often; false for hooks that call `flush`. */
  readonly flushInterval?: Duration | false
  readonly onFull?: OnFull
  /** The most bytes that all segments may have together, 1000 at least. Events longer than half of it are refused. */
  readonly maxBytes?: number
  /** How many bytes must stay free on the disk. */
  readonly minFreeBytes?: number
  /** Longer events are refused. */
  readonly maxEventBytes?: number
  readonly maxBatchEvents?: number
  readonly maxBatchBytes?: number
  /**
   * How many events may be set aside in a row while the server accepts none; then it counts as failing. 100 by default.
   */
  readonly maxRefusals?: number
  /** How often an event is sent again that the server answers with `retry`, before it is set aside. 8 by default. */
  readonly maxRetries?: number
  /**
   * Bodies of at least this many bytes are compressed; false for none. 64 KiB by default, and none to an address of
   * this machine.
   */
  readonly gzipAboveBytes?: number | false
  /** How long a request may take. */
  readonly timeout?: Duration
  readonly segmentBytes?: number
  /** How long the owner of the directory may fail to renew its lock before another process takes over. */
  readonly ownerTimeout?: Duration
  readonly backoff?: BackoffOptions
  /** Tells shippers of a process apart in reports; the name of the directory by default. */
  readonly name?: string
  /** For tests. */
  readonly clock?: Clock
  readonly fs?: FileSystem
  readonly random?: () => number
  readonly identity?: ProcessIdentity
}

export interface ResolvedShipperOptions {
  readonly dir: string
  readonly name: string
  readonly endpoint: string | undefined
  readonly capacityEndpoint: string | undefined
  readonly headers: () => Headers | Promise<Headers>
  readonly send: Send | undefined
  readonly capacity: AskCapacity | undefined
  readonly durability: Durability
  readonly syncIntervalMs: number
  readonly flushIntervalMs: number | undefined
  readonly onFull: OnFull
  readonly maxBytes: number
  readonly minFreeBytes: number
  readonly maxEventBytes: number
  readonly maxBatchEvents: number
  readonly maxBatchBytes: number
  readonly maxRefusals: number
  readonly maxRetries: number
  readonly gzipAboveBytes: number
  readonly timeoutMs: number
  readonly segmentBytes: number
  readonly ownerTimeoutMs: number
  readonly backoff: BackoffRules
  readonly clock: Clock
  readonly fs: FileSystem
  readonly random: () => number
  readonly identity: ProcessIdentity
}

const defaults = Object.freeze({
  durability: 'sync',
  syncInterval: '500ms',
  flushInterval: '1s',
  onFull: 'wait',
  maxEventBytes: 1 << 20,
  maxBatchEvents: 10_000,
  maxBatchBytes: 4 << 20,
  maxRefusals: 100,
  maxRetries: 8,
  timeout: '30s',
  segmentBytes: 16 << 20,
  ownerTimeout: '15s',
} as const)

const known = [
  ...['dir', 'name', 'endpoint', 'capacityEndpoint', 'headers', 'send', 'capacity', 'durability', 'syncInterval'],
  ...['flushInterval', 'onFull', 'maxBytes', 'minFreeBytes', 'maxEventBytes', 'maxBatchEvents', 'maxBatchBytes'],
  ...['maxRefusals', 'maxRetries', 'gzipAboveBytes', 'timeout', 'segmentBytes', 'ownerTimeout', 'backoff'],
  ...['clock', 'fs', 'random', 'identity'],
]

/** Checks the options and fills in the defaults, once. */
export function resolveOptions(given: ShipperOptions): ResolvedShipperOptions {
  checkOptionNames('createShipper', given, known)
  const options = { ...defaults, ...withoutUndefined(given) }
  if (typeof options.dir !== 'string' || options.dir === '') {
    throw invalidOption('createShipper.dir', options.dir, 'use the path of a directory for the buffer')
  }
  if ((options.endpoint === undefined) === (options.send === undefined)) {
    throw invalidOption('createShipper.endpoint', options.endpoint, 'give either endpoint or send')
  }
  const endpoint = options.endpoint === undefined ? undefined : url('endpoint', options.endpoint)
  const headers = options.headers ?? {}
  const maxBytes = bytes('maxBytes', options.maxBytes ?? Infinity, 1000)
  // A longer event would never fit.
  const maxEventBytes = Math.min(
    bytes('maxEventBytes', options.maxEventBytes, 1, maxPayloadBytes),
    Math.max(1, Math.floor(maxBytes / 2)),
  )
  return {
    // The process may change its directory; the buffer stays where it is.
    dir: resolve(options.dir),
    name: options.name ?? basename(resolve(options.dir)),
    endpoint,
    capacityEndpoint: options.capacityEndpoint
      ? url('capacityEndpoint', options.capacityEndpoint)
      : endpoint && capacityUrl(endpoint),
    headers: typeof headers === 'function' ? headers : () => headers,
    send: options.send,
    capacity: options.capacity,
    durability: choice('durability', options.durability, ['sync', 'interval', 'os']),
    syncIntervalMs: parseDuration(options.syncInterval, 'createShipper.syncInterval'),
    flushIntervalMs:
      options.flushInterval === false ? undefined : parseDuration(options.flushInterval, 'createShipper.flushInterval'),
    onFull: choice('onFull', options.onFull, ['wait', 'refuse', 'drop-oldest']),
    maxBytes,
    minFreeBytes: bytes('minFreeBytes', options.minFreeBytes ?? 0, 0),
    maxEventBytes,
    maxBatchEvents: bytes('maxBatchEvents', options.maxBatchEvents, 1, 1_000_000),
    maxBatchBytes: bytes('maxBatchBytes', options.maxBatchBytes, maxEventBytes),
    maxRefusals: bytes('maxRefusals', options.maxRefusals, 1),
    maxRetries: bytes('maxRetries', options.maxRetries, 0, 1000),
    gzipAboveBytes: gzipFrom(options.gzipAboveBytes, endpoint),
    timeoutMs: parseDuration(options.timeout, 'createShipper.timeout'),
    // With a limit there are several segments, so that the oldest can be dropped without dropping all.
    segmentBytes: Math.min(bytes('segmentBytes', options.segmentBytes, 1), Math.max(4096, Math.floor(maxBytes / 8))),
    ownerTimeoutMs: parseDuration(options.ownerTimeout, 'createShipper.ownerTimeout'),
    backoff: backoffRules(options.backoff ?? {}),
    clock: options.clock ?? systemClock(),
    fs: options.fs ?? nodeFiles,
    random: options.random ?? Math.random,
    identity: options.identity ?? thisProcess(),
  }
}

function gzipFrom(given: number | false | undefined, endpoint: string | undefined): number {
  if (given === false) return Infinity
  if (given !== undefined) return bytes('gzipAboveBytes', given, 0)
  // Between two processes on one machine, compression costs time and saves nothing.
  const host = endpoint === undefined ? '' : new URL(endpoint).hostname
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host) ? Infinity : 64 << 10
}

function bytes(name: string, value: number, least: number, most: number = Number.MAX_SAFE_INTEGER): number {
  const isWhole = Number.isSafeInteger(value) || (value === Infinity && most === Number.MAX_SAFE_INTEGER)
  if (!isWhole || value < least || (value !== Infinity && value > most)) {
    throw invalidOption(`createShipper.${name}`, value, `use a whole number from ${least} to ${most}`)
  }
  return value
}

function choice<T extends string>(name: string, value: T, choices: readonly T[]): T {
  if (choices.includes(value)) return value
  throw invalidOption(`createShipper.${name}`, value, `use one of ${choices.join(', ')}`)
}

/** The path gets `/capacity`; a query (a tenant, a key) stays. */
function capacityUrl(endpoint: string): string {
  const url = new URL(endpoint)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/capacity`
  return url.href
}

function url(name: string, value: string): string {
  const parsed = URL.canParse(value) ? new URL(value) : undefined
  if (parsed !== undefined && (parsed.username !== '' || parsed.password !== '')) {
    throw invalidOption(`createShipper.${name}`, `${parsed.origin}${parsed.pathname}`, 'give credentials as headers')
  }
  if (parsed?.protocol === 'http:' || parsed?.protocol === 'https:') return parsed.href
  throw invalidOption(`createShipper.${name}`, value, 'use an address that starts with http:// or https://')
}
