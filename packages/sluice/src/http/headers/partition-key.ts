import { sha256 } from '../../core/sha256.ts'

/**
 * Writes the `pk` parameter for a partition: a keyed hash of it, as the partition may be a secret such as an API key.
 */
export function partitionKey(secret: string = crypto.randomUUID()): (partition: string) => string {
  return (partition) => {
    const digest = sha256(`${secret}\0${partition}`).slice(0, 24)
    const bytes = digest.match(/../g)!.map((byte) => Number.parseInt(byte, 16))
    return `;pk=:${btoa(String.fromCharCode(...bytes))}:`
  }
}
