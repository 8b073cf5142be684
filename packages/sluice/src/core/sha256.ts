// FIPS 180-4 in plain JavaScript: the core has no node: imports, and a key must not meet another's however it is
// chosen.
const fraction = (x: number): number => ((x - Math.floor(x)) * 0x100000000) | 0
const primes: number[] = []
for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p !== 0)) primes.push(n)
const roundConstants = primes.map((p) => fraction(Math.cbrt(p)))
const initial = primes.slice(0, 8).map((p) => fraction(Math.sqrt(p)))

const rotate = (x: number, by: number): number => (x >>> by) | (x << (32 - by))

let hash: (text: string) => string = sha256InJavaScript

/** Replaces the implementation by a faster one of the platform; it must give the same results. */
export function useSha256(faster: (text: string) => string): void {
  hash = faster
}

/**
 * The SHA-256 of a text's UTF-16 units, big-endian (so that lone surrogates stay distinct), as 64 hexadecimal digits.
 */
export function sha256(text: string): string {
  return hash(text)
}

/** The same on every platform. Some 50 times slower than `node:crypto`. */
export function sha256InJavaScript(text: string): string {
  const length = text.length * 2
  const words = new Int32Array((((length + 8) >> 6) + 1) * 16)
  for (let i = 0; i < text.length; i++) words[i >> 1]! |= text.charCodeAt(i) << (i % 2 === 0 ? 16 : 0)
  words[length >> 2]! |= 0x80 << (24 - (length % 4) * 8)
  words[words.length - 2] = Math.floor((length * 8) / 0x100000000)
  words[words.length - 1] = (length * 8) | 0
  const hash = Int32Array.from(initial)
  for (let block = 0; block < words.length; block += 16) compress(hash, words, block)
  return Array.from(hash, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

const schedule = new Int32Array(64)

function compress(hash: Int32Array, words: Int32Array, block: number): void {
  for (let i = 0; i < 64; i++) {
    if (i < 16) {
      schedule[i] = words[block + i]!
      continue
    }
    const x = schedule[i - 15]!
    const y = schedule[i - 2]!
    const s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3)
    const s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10)
    schedule[i] = (schedule[i - 16]! + s0 + schedule[i - 7]! + s1) | 0
  }
  let [a, b, c, d, e, f, g, h] = hash as unknown as [number, number, number, number, number, number, number, number]
  for (let i = 0; i < 64; i++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + roundConstants[i]! + schedule[i]!) | 0
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  const words8 = [a, b, c, d, e, f, g, h]
  for (let i = 0; i < 8; i++) hash[i] = (hash[i]! + words8[i]!) | 0
}
