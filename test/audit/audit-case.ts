/** A finding, and the tests that keep it from coming back: a file, and a text of the test in it. */
export interface AuditCase {
  readonly found: string
  readonly tests: readonly (readonly [file: string, text: string])[]
  /** Why there is no test. */
  readonly decided?: string
}
