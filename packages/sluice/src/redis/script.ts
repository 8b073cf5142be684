/** A script as the build made it from its `.lua` file. */
export interface Script {
  readonly name: string
  readonly source: string
  readonly sha1: string
}
