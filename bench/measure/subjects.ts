/** Names of subjects, all of one length: what redis-benchmark puts in the place of `__rand_int__` has 12 digits too. */
export function subjectNames(count: number): string[] {
  // A string pasted together from parts is flattened on first use; doing it here keeps that out of the figures.
  return Array.from({ length: count }, (_, index) =>
    Buffer.from(`subject-${String(index).padStart(12, '0')}`).toString('latin1'),
  )
}

/** A fixed pseudo-random order in which subjects ask, the same for every contender. */
export function askingOrder(subjects: number): Uint32Array {
  const order = new Uint32Array(1 << 16)
  let seed = 1
  for (let index = 0; index < order.length; index++) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    order[index] = Math.floor((seed / 2 ** 32) * subjects)
  }
  return order
}
