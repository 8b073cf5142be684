/** Where time comes from. Microseconds since the epoch, as an integer: small enough to be exact until the year 2255. */
export interface Clock {
  now(): number
  /** The same time, at least to the millisecond, where that can be had more cheaply. */
  coarse?(): number
}
