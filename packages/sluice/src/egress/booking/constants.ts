/** A request begins to be written within this of the booking; then its last byte is written within `holdUs`. */
export const writeByMs = 500
/** From the grant until the request is surely written, should its process die. */
export const holdUs = 1_000_000
/** A waiter whose process does not ask for so long is passed over when it is its turn. */
export const claimUs = 25_000
/** Waiters of a process that was silent for so long are passed over; then it counts as gone. */
export const silentUs = 2_000_000
export const goneUs = 3_000_000
/** Limits that a process stated hold for so long after it was last seen. */
export const statedUs = 10_000_000
/** After a refusal the rate rises to its full value over this time. */
export const rampUs = 4_000_000
/** What the clock of a process may differ by. */
export const guardUs = 2000
/** The longest silence after a loss of state. */
export const mostSilenceUs = 3_000_000
/** The copy of a log must not be older than this: processes keep what they were granted for a little longer. */
export const mirrorLastsUs = 4_000_000
