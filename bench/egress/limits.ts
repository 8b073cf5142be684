/** A thousand calls in the shortest possible period, so that booking limits the rate. */
export const narrowLimit = { amount: 1000, per: '10ms' } as const
/** In process a thousand would be used up; so many in a second, which is the period of most vendors, never are. */
export const wideLimit = { amount: 10_000_000, per: '1s' } as const
