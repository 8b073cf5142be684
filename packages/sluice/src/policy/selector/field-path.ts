const step = /\.?([^\s.[\]"'|?]+)|\[(\d{1,9})\]|\[(?:"([^"]+)"|'([^']+)')\]/y

const deepest = 16

/**
 * Reads the path of a field: names after dots, `[0]` for items, `["any text"]` for names with dots or spaces in them.
 * Returns undefined for what is no path.
 *
 * @example parseFieldPath('items[0].id') // ['items', '0', 'id']
 */
export function parseFieldPath(text: string): readonly string[] | undefined {
  const path: string[] = []
  step.lastIndex = 0
  while (step.lastIndex < text.length) {
    const at = step.lastIndex
    const found = step.exec(text)
    // A name needs a dot before it, except at the start.
    if (!found || (found[1] !== undefined && text.startsWith('.', at) === (at === 0))) return undefined
    path.push((found[1] ?? found[2] ?? found[3] ?? found[4])!)
  }
  return path.length > 0 && path.length <= deepest ? path : undefined
}
