interface CopyConnection {
  readonly stream: { cork(): void; uncork(): void }
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

/** Statements with `COPY ... FROM STDIN` among them and all their rows, as a query that a client of `pg` can run. */
export class CopyIn {
  readonly done: Promise<void>
  readonly #text: string
  readonly #copies: Iterable<Iterable<string>>
  #resolve: () => void = () => undefined
  #reject: (error: Error) => void = () => undefined

  /** For each COPY in the text, its rows in pieces. */
  constructor(text: string, copies: Iterable<Iterable<string>>) {
    this.#text = text
    this.#copies = copies
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** The rows need not wait for an answer: if something fails before their COPY, PostgreSQL ignores them. */
  submit(connection: CopyConnection): void {
    const { stream } = connection
    // Small pieces leave together. PostgreSQL works on a large one while the next one is made.
    stream.cork()
    connection.query(this.#text)
    for (const pieces of this.#copies) {
      for (const piece of pieces) {
        connection.sendCopyFromChunk(Buffer.from(piece))
        if (piece.length < pieceLength) continue
        stream.uncork()
        stream.cork()
      }
      connection.endCopyFrom()
    }
    stream.uncork()
  }

  handleCopyInResponse(): void {}

  handleError(error: Error): void {
    this.#reject(error)
  }

  handleReadyForQuery(): void {
    this.#resolve()
  }

  handleCommandComplete(): void {}

  handleRowDescription(): void {}

  handleDataRow(): void {}
}

/**
 * Rows in lists of which each is best written by a COPY of its own. PostgreSQL 15 takes time for the first 1000 rows of
 * a COPY that grows with their square: each row in its buffer holds a reference that is searched for at the end.
 */
export function copiesOf(rows: readonly object[]): (readonly object[])[] {
  const size = rows.length > mostInSmallCopies ? rows.length : smallCopy
  return Array.from({ length: Math.ceil(rows.length / size) }, (_, i) => rows.slice(i * size, (i + 1) * size))
}

const smallCopy = 250
const mostInSmallCopies = 3000

/** Whether all values have one text in COPY; that of an object depends on the type of its column. */
export function canCopy(rows: readonly object[], columns: readonly string[]): boolean {
  for (const row of rows)
    for (const column of columns) {
      const value = (row as Row)[column]
      if (typeof value === 'function' || typeof value === 'symbol') return false
      if (typeof value === 'object' && value !== null && !isDate(value)) return false
    }
  return true
}

/** Rows in the text format of COPY, in pieces; with `numbers`, each with its number behind it. */
export function* copyText(
  rows: readonly object[],
  columns: readonly string[],
  numbers?: { next: number },
): Generator<string> {
  let text = ''
  for (const row of rows) {
    let separator = ''
    for (const column of columns) {
      text += separator + copyField((row as Row)[column])
      separator = '\t'
    }
    text += numbers === undefined ? '\n' : `\t${numbers.next++}\n`
    if (text.length < pieceLength) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}

type Row = Readonly<Record<string, unknown>>
const pieceLength = 32_768
const special = /[\\\n\r\t]/
const allSpecial = /[\\\n\r\t]/g
const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function copyField(value: unknown): string {
  if (typeof value === 'string')
    return special.test(value) ? value.replace(allSpecial, (each) => escapes[each]!) : value
  if (value === undefined || value === null) return '\\N'
  return value instanceof Date ? value.toISOString() : String(value)
}

const isDate = (value: object): boolean => value instanceof Date && !Number.isNaN(value.getTime())
