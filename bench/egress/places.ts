/** A thousand places with the shortest possible period, so that booking limits the rate. */
export const places = { amount: 1000, per: '10ms' } as const
/** In process a thousand would be used up; this many never are. */
export const manyPlaces = { amount: 100_000, per: '10ms' } as const
