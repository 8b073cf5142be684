/** The words of a command line, and what was found that a shell would have replaced or run. */
export interface ShellWords {
  readonly words: readonly string[]
  readonly notes: readonly string[]
}

/** What a line consists of, as bash reads it. A continued line may have kept its carriage return. */
const pieces = new RegExp(
  [
    String.raw`\\(?:\r\n?|\n|$)`,
    String.raw`\\(?<escaped>[^])`,
    String.raw`\$'(?<ansi>(?:\\[^]|[^\\'])*)(?<ansiEnd>'?)`,
    `'(?<single>[^']*)(?<singleEnd>'?)`,
    String.raw`"(?<double>(?:\\[^]|[^\\"])*)(?<doubleEnd>"?)`,
    String.raw`(?<blank>\s+)`,
    '(?<end>[|;&<>])',
    String.raw`(?<plain>(?:(?!\$')[^\s\\'"|;&<>])+)`,
  ].join('|'),
  'g',
)

/**
 * Splits a command line as bash does: quotes, escapes, `$'...'` and continued lines. Nothing is run or looked up: it
 * ends at the first `|`, `;`, `&` or redirection, and variables stay as they are written.
 */
export function shellWords(text: string): ShellWords {
  const words: string[] = []
  const notes = new Set<string>()
  let word: string | undefined
  for (const { groups = {} } of text.matchAll(pieces)) {
    const { escaped, ansi, single, double, blank, end, plain } = groups
    if (end !== undefined) {
      notes.add(`What stands after ${end} is left out.`)
      break
    }
    if (blank !== undefined) {
      if (word !== undefined) words.push(word)
      word = undefined
      // The next line is another command.
      if (blank.includes('\n') && words.length > 0) break
      continue
    }
    if ([groups.ansiEnd, groups.singleEnd, groups.doubleEnd].includes('')) notes.add('A quotation mark is not closed.')
    noteVariables(plain ?? double?.replace(/\\[\\"$`]/g, '') ?? '', notes)
    const piece = escaped ?? single ?? plain ?? ansi?.replace(ansiEscape, unescaped) ?? double?.replace(quoted, '$1')
    if (piece !== undefined) word = (word ?? '') + piece
  }
  if (word !== undefined) words.push(word)
  return { words, notes: [...notes] }
}

/** Inside double quotes only these are escaped; a continued line is nothing. */
const quoted = /\\(?:\n|([\\"$`]))/g

/** Inside `$'...'`, which browsers write for text with quotes or line breaks. */
const ansiEscape = /\\(?:x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8})|([\s\S]))/g

const letters: Readonly<Record<string, string>> = {
  ...{ n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v', a: '\x07', e: '\x1b', '0': '\0' },
}

function unescaped(_: string, hex?: string, unicode?: string, long?: string, letter = ''): string {
  const digits = hex ?? unicode ?? long
  if (digits === undefined) return letters[letter] ?? letter
  const code = Number.parseInt(digits, 16)
  return code <= 0x10ffff ? String.fromCodePoint(code) : ''
}

function noteVariables(text: string, notes: Set<string>): void {
  for (const [name] of text.matchAll(/\$(?:\w+|\{\w+\}|\()|`/g))
    notes.add(`${name === '$(' || name === '`' ? 'A command in the text' : name} is taken as it is written.`)
}
