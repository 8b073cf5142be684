import { SluiceError } from '../core/errors.ts'

/** An event as it is stored; throws if it is not JSON, or is longer than allowed. */
export function toPayload(event: unknown, maxEventBytes: number): string | SluiceError {
  let payload: string | undefined
  try {
    payload = JSON.stringify(event)
  } catch (cause) {
    return new SluiceError('SLUICE_INVALID_EVENT', 'the event cannot be written as JSON', { cause })
  }
  if (payload === undefined) {
    return new SluiceError('SLUICE_INVALID_EVENT', `an event of type ${typeof event} cannot be written as JSON`)
  }
  // No character takes more than three bytes, so most events need not be measured.
  if (payload.length * 3 > maxEventBytes && Buffer.byteLength(payload) > maxEventBytes) {
    const message = `the event has ${Buffer.byteLength(payload)} bytes; maxEventBytes is ${maxEventBytes}`
    return new SluiceError('SLUICE_EVENT_TOO_LARGE', message)
  }
  return payload
}
