import { SluiceError } from 'sluice'

/** A configuration that does not make sense, or asks for something that Sluice does not do; names every such place. */
export class InvalidEnvoyConfig extends SluiceError {
  constructor(problems: readonly string[]) {
    const list = problems.length === 1 ? ` ${problems[0]}` : problems.map((problem) => `\n  ${problem}`).join('')
    super('SLUICE_INVALID_POLICY', `Envoy configuration refused:${list}`)
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
