/** What was given to a command, by option or by environment variable. */
export interface Input {
  readonly args: readonly string[]
  text(option: string): string | undefined
  flag(option: string): boolean
  many(option: string): readonly string[]
  /** A whole number from `least`; says what would be right when it is not. */
  whole(option: string, least: number): number | undefined
  /** Whether it was said on the command line, rather than in the environment. */
  given(option: string): boolean
}
