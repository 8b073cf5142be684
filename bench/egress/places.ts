/** A thousand places with the shortest possible period, so that booking limits the rate. */
export const places = { amount: 1000, per: '10ms' } as const
/** In process a thousand would be used up; so many in a second, which is the period of most vendors, never are. */
export const manyPlaces = { amount: 10_000_000, per: '1s' } as const
