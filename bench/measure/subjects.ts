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

/** So many keys whose plans are looked up, with the subjects that are asked for evenly among them. */
export function* planKeys(plans: number, asked: number): Generator<string> {
  const subjects = subjectNames(asked)
  const every = plans / asked
  for (let i = 0; i < plans; i++) yield i % every === 0 ? subjects[i / every]! : `plan-${i}`
}
