/** A thousand places whose period is as short as can be, so that booking is what limits the rate. */
export const places = { amount: 1000, per: '10ms' } as const
