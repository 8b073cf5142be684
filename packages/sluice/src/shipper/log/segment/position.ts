/** Up to where a segment was shipped. */
export interface Position {
  readonly offset: number
  readonly seq: number
}
