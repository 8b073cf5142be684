export { createPresence, type PresenceOptions } from './create-presence.ts'
export { presenceMetrics } from './metrics.ts'
export type { Member, Membership, Presence, PresenceChange, PresenceEvents } from './presence.ts'
export { eventStream, sendEvents } from './sse.ts'
