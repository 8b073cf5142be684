const mostParts = 200
const mostCharacters = 200

/** The value of a mistake, short enough to print. A value with aliases may be endless when it is written out. */
export function shortValue(value: unknown): unknown {
  let parts = 0
  try {
    const text = JSON.stringify(value, (_, part) => {
      if (++parts > mostParts) throw new RangeError('too many parts')
      return part
    })
    if (text === undefined || text.length <= mostCharacters) return value
    return `${(typeof value === 'string' ? value : text).slice(0, mostCharacters - 3)}...`
  } catch {
    return Array.isArray(value) ? `a list of ${value.length}` : 'an object'
  }
}
