/** Names of subjects, all of one length: redis-benchmark replaces `__rand_int__` by 12 digits too. */
export function subjectNames(count: number): string[] {
  // A concatenated string is flattened on first use; doing it here keeps that out of the figures.
  return Array.from({ length: count }, (_, index) =>
    Buffer.from(`subject-${String(index).padStart(12, '0')}`).toString('latin1'),
  )
}

/** A fixed pseudo-random order of subjects, the same for every contender. */
export function askingOrder(subjects: number): Uint32Array {
  const order = new Uint32Array(1 << 16)
  let seed = 1
  for (let index = 0; index < order.length; index++) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    order[index] = Math.floor((seed / 2 ** 32) * subjects)
  }
  return order
}

/** How many subjects are asked for where their plans are looked up among more. */
export const planSubjects = 1000
