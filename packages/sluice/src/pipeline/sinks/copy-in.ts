interface CopyConnection {
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

/** Statements with one `COPY ... FROM STDIN` among them and all its rows, as a query that a client of `pg` can run. */
export class CopyIn {
  readonly done: Promise<void>
  readonly #text: string
  readonly #rows: Iterable<string>
  #resolve: () => void = () => undefined
  #reject: (error: Error) => void = () => undefined

  constructor(text: string, rows: Iterable<string>) {
    this.#text = text
    this.#rows = rows
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** The rows need not wait for an answer: if something fails before the COPY, PostgreSQL ignores them. */
  submit(connection: CopyConnection): void {
    connection.query(this.#text)
    // PostgreSQL works on the first piece while the next one is made.
    for (const piece of this.#rows) connection.sendCopyFromChunk(Buffer.from(piece))
    connection.endCopyFrom()
  }

  handleCopyInResponse(): void {}

  handleError(error: Error): void {
    this.#reject(error)
  }

  handleReadyForQuery(): void {
    this.#resolve()
  }

  handleCommandComplete(): void {}
}

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

/** Rows in the text format of COPY, in pieces. */
export function* copyText(rows: readonly object[], columns: readonly string[]): Generator<string> {
  let text = ''
  for (const row of rows) {
    let separator = ''
    for (const column of columns) {
      text += separator + copyField((row as Row)[column])
      separator = '\t'
    }
    text += '\n'
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
