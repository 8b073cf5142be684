const table = new Uint16Array(256)
for (let byte = 0; byte < 256; byte++) {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  table[byte] = crc
}

/** One server that is not a cluster has no slots. */
export const noSlot = -1

/**
 * The Redis Cluster slot of a key: CRC16 (XMODEM) modulo 16384, of the hash tag where the key has one. Keys are ASCII.
 */
export function slotOf(key: string): number {
  const open = key.indexOf('{')
  const close = open < 0 ? -1 : key.indexOf('}', open + 1)
  const [from, to] = close > open + 1 ? [open + 1, close] : [0, key.length]
  let crc = 0
  for (let i = from; i < to; i++) crc = ((crc << 8) & 0xffff) ^ table[(crc >> 8) ^ (key.charCodeAt(i) & 0xff)]!
  return crc % 16384
}
