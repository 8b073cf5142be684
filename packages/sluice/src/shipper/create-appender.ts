import { checkOptionNames } from '../core/check-options.ts'
import { makeBufferDir } from './files/file-system.ts'
import { Room } from './log/room.ts'
import { Writer } from './log/writer.ts'
import { resolveOptions, type ShipperOptions } from './options.ts'
import { toPayload } from './payload.ts'

/** Stores events for a shipper on the same directory to send. */
export interface Appender extends AsyncDisposable {
  /** Stores an event; resolves with its id when it is on the disk. */
  append(event: unknown): Promise<string>
  /** Makes what was stored available to the owner. */
  close(): Promise<void>
}

export type AppenderOptions = Pick<
  ShipperOptions,
  'dir' | 'durability' | 'maxBytes' | 'minFreeBytes' | 'maxEventBytes' | 'segmentBytes' | 'fs' | 'clock' | 'identity'
>

const names = [
  ...['dir', 'durability', 'maxBytes', 'minFreeBytes', 'maxEventBytes', 'segmentBytes', 'fs', 'clock', 'identity'],
]

/**
 * Opens a buffer only to store events, as a short-lived hook does while a service ships them. It never becomes the
 * owner, and does not wait when the buffer is full.
 *
 * @example
 * const appender = await createAppender({ dir: 'buffer' })
 * await appender.append({ type: 'tool-call', ms: 12 })
 * await appender.close()
 */
export async function createAppender(options: AppenderOptions): Promise<Appender> {
  checkOptionNames('createAppender', options, names)
  const resolved = resolveOptions({ ...options, send: async () => undefined, onFull: 'refuse' })
  const { fs, dir, maxEventBytes } = resolved
  await makeBufferDir(fs, dir)
  const room = new Room({ ...resolved, dropOldest: async () => false, onChange: () => {} })
  const writer = new Writer({
    ...resolved,
    maxWaitingBytes: 64 << 20,
    makeRoom: (...wanted) => room.make(...wanted),
    onWritten: (_bytes, _count, grownBytes) => room.written(grownBytes),
    onRefused: () => {},
    onFailure: () => {},
  })
  return {
    append(event) {
      const payload = toPayload(event, maxEventBytes)
      return typeof payload === 'string' ? writer.append(payload) : Promise.reject(payload)
    },
    close: () => writer.close(),
    [Symbol.asyncDispose]: () => writer.close(),
  }
}
