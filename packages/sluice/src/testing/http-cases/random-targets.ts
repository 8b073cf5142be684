/** Pieces that routers, proxies and the URL standard read in different ways. */
const pieces: readonly string[] = [
  ...['/', '/', '//', '\\', '/\\', '.', '..', '/.', '/..', '/../', '/./', '%2e', '%2E%2e', '%2f', '%5c', '%2F..'],
  ...[
    '#',
    '?',
    ';',
    ';x',
    '%23',
    '%3f',
    '%3b',
    '%25',
    '%',
    '%0',
    '%00',
    '%c0%af',
    '%c3%a9',
    '%e2%80%ae',
    '@',
    ':',
    '*',
  ],
  ...[
    'x',
    'X',
    '%78',
    'hello',
    'HELLO',
    '%68ello',
    'hell',
    'o',
    'status',
    '299',
    '%3299',
    'healthz',
    '&',
    '=',
    '+',
    '[',
    ']',
    '|',
  ],
]
const starts: readonly string[] = [
  '',
  '',
  '',
  '',
  '/',
  '*',
  '//x',
  'http://x',
  'http://x?',
  'http:',
  '/x/..',
  '/static/..',
]
const paths: readonly (readonly string[])[] = [
  ['/', 'hello'],
  ['/', 'status', '/', '299'],
]

/**
 * Targets near the paths of two handlers: a piece is put in, taken out, doubled or spelt in another way, a few times
 * over.
 */
export function randomTargets(seed: number, count: number): readonly string[] {
  const random = generator(seed)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
  const targets: string[] = []
  while (targets.length < count) {
    const parts = [...pick(paths)]
    for (let change = Math.floor(random() * 5); change > 0; change--) {
      const at = Math.floor(random() * (parts.length + 1))
      const dice = random()
      if (dice < 0.6) parts.splice(at, 0, pick(pieces))
      else if (dice < 0.7) parts.splice(at, 1)
      else if (at < parts.length) parts[at] = respelt(parts[at]!, random)
    }
    targets.push(pick(starts) + parts.join(''))
  }
  return targets.filter((target) => target !== '')
}

/** A text with some letters escaped or in the other case. */
function respelt(text: string, random: () => number): string {
  return [...text]
    .map((letter) => {
      const dice = random()
      if (dice < 0.2) return `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}`
      return dice < 0.4 ? letter.toUpperCase() : letter
    })
    .join('')
}

/** The same numbers for the same seed (mulberry32). */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
