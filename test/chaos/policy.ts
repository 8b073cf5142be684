import type { PolicyDocument } from '../../packages/sluice/src/policy/document/document.ts'

/** More than one decision ever spends of its separate subject, so that a second charge can be seen. */
export const onceAmount = 10
/** What each shared subject may spend; the load takes twice as much. */
export const sharedAmount = 200
/** Far longer than any run: nothing expires meanwhile, and a window shows when its subject was first charged. */
export const periodMs = 3_600_000

/** Both rules are closed: whatever is allowed was allowed by Redis. */
export function chaosPolicy(service: string): PolicyDocument {
  const limit = { per: '1h', algorithm: 'fixed-window' } as const
  return {
    service,
    rules: [
      { name: 'once', limits: [{ ...limit, amount: onceAmount }], onStoreFailure: 'closed' },
      { name: 'shared', limits: [{ ...limit, amount: sharedAmount }], onStoreFailure: 'closed' },
    ],
  }
}

/** Each request is charged to a user and to a device, which are in different slots of a cluster. */
export const stranded: PolicyDocument = {
  service: 'stranded',
  rules: [
    { name: 'user', key: 'headers.user', limits: { rph: 100 } },
    { name: 'device', key: 'headers.device', limits: { rph: 2 } },
  ],
}
