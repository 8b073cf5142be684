/** A thousand places whose period is as short as can be, so that booking is what limits the rate. */
export const places = { amount: 1000, per: '10ms' } as const
/** In process a thousand would be used up; so many never are. */
export const manyPlaces = { amount: 100_000, per: '10ms' } as const
