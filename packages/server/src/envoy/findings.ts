import { SluiceError } from 'sluice'

/** A configuration that does not make sense, or asks for something that Sluice does not do; names every such place. */
export class InvalidEnvoyConfig extends SluiceError {
  /** Each names its place itself. */
  readonly issues: readonly { readonly path: string; readonly message: string }[]

  constructor(problems: readonly string[]) {
    // Names of files are in it, and may have line breaks.
    const lines = problems.map((problem) => problem.replaceAll('\n', '\\n'))
    const list = lines.length === 1 ? ` ${lines[0]}` : lines.map((line) => `\n  ${line}`).join('')
    super('SLUICE_INVALID_POLICY', `Envoy configuration refused:${list}`)
    this.issues = problems.map((message) => ({ path: '', message }))
  }
}

/** What reading a file has found so far. */
export class Findings {
  readonly problems: string[] = []
  /** What was left out because it changes no decision. */
  readonly warnings: string[] = []
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  /** The file and the path, as messages name a place. */
  placeOf(path: string): string {
    return `${this.#file}: ${path}`
  }

  problem(path: string, value: unknown, message: string): undefined {
    this.problems.push(`${this.placeOf(path)} is ${JSON.stringify(value)}; ${message}`)
  }

  warn(path: string, message: string): void {
    this.warnings.push(`${this.placeOf(path)} ${message}`)
  }
}
