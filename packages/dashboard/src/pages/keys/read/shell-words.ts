/** The words of a command line, and what was found that a shell would have replaced or run. */
export interface ShellWords {
  readonly words: readonly string[]
  readonly notes: readonly string[]
}

const simpleEscapes: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  a: '\x07',
  b: '\b',
  e: '\x1b',
  f: '\f',
  v: '\v',
  '0': '\0',
}

/**
 * Splits a command line as bash does: quotes, escapes, `$'...'` and continued lines. Nothing is run or looked up: it
 * ends at the first `|`, `;`, `&` or redirection, and variables stay as they are written.
 */
export function shellWords(text: string): ShellWords {
  const words: string[] = []
  const notes = new Set<string>()
  let word: string | undefined
  let i = 0
  const add = (piece: string): void => {
    word = (word ?? '') + piece
  }
  const end = (): void => {
    if (word !== undefined) words.push(word)
    word = undefined
  }
  while (i < text.length) {
    const c = text[i]!
    if (c === '\\') {
      const next = text[i + 1]
      // A continued line; pasted text may have kept the carriage return.
      if (next === '\n' || next === undefined) i += 2
      else if (next === '\r') i += text[i + 2] === '\n' ? 3 : 2
      else {
        add(next)
        i += 2
      }
    } else if (c === "'") {
      const close = closing(text, text.indexOf("'", i + 1), notes)
      add(text.slice(i + 1, close))
      i = close + 1
    } else if (c === '$' && text[i + 1] === "'") {
      const [piece, after] = ansiQuoted(text, i + 2, notes)
      add(piece)
      i = after
    } else if (c === '"') {
      const [piece, after] = doubleQuoted(text, i + 1, notes)
      add(piece)
      i = after
    } else if (/\s/.test(c)) {
      end()
      // The next line is another command.
      if (c === '\n' && words.length > 0) break
      i++
    } else if (c === '|' || c === ';' || c === '&' || c === '>' || c === '<') {
      notes.add(`What stands after ${c} is left out.`)
      break
    } else {
      noteVariable(text, i, notes)
      add(c)
      i++
    }
  }
  end()
  return { words, notes: [...notes] }
}

function doubleQuoted(text: string, start: number, notes: Set<string>): [string, number] {
  let piece = ''
  let i = start
  while (i < text.length && text[i] !== '"') {
    if (text[i] === '\\' && /[\\"$`\n]/.test(text[i + 1] ?? '')) {
      if (text[i + 1] !== '\n') piece += text[i + 1]
      i += 2
    } else {
      noteVariable(text, i, notes)
      piece += text[i]
      i++
    }
  }
  return [piece, closing(text, i < text.length ? i : -1, notes) + 1]
}

/** `$'...'`, which browsers write for text with quotes or line breaks. */
function ansiQuoted(text: string, start: number, notes: Set<string>): [string, number] {
  let piece = ''
  let i = start
  while (i < text.length && text[i] !== "'") {
    if (text[i] !== '\\') {
      piece += text[i++]
      continue
    }
    const [all, hex, unicode, long] =
      /^\\(?:x([\da-f]{1,2})|u([\da-f]{1,4})|U([\da-f]{1,8}))/i.exec(text.slice(i, i + 12)) ?? []
    if (all !== undefined) {
      const code = Number.parseInt(hex ?? unicode ?? long ?? '', 16)
      piece += code <= 0x10ffff ? String.fromCodePoint(code) : ''
      i += all.length
    } else {
      const next = text[i + 1] ?? ''
      piece += simpleEscapes[next] ?? next
      i += 2
    }
  }
  return [piece, closing(text, i < text.length ? i : -1, notes) + 1]
}

function closing(text: string, at: number, notes: Set<string>): number {
  if (at >= 0) return at
  notes.add('A quotation mark is not closed.')
  return text.length
}

function noteVariable(text: string, at: number, notes: Set<string>): void {
  const [name] = /^(?:\$(?:\w+|\{\w+\}|\()|`)/.exec(text.slice(at, at + 80)) ?? []
  if (name !== undefined)
    notes.add(`${name.startsWith('$(') || name === '`' ? 'A command in the text' : name} is taken as it is written.`)
}
