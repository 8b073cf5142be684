export { createPresence, type PresenceOptions } from './create-presence.ts'
export { presenceMetrics, presenceMetricTable } from './metrics.ts'
export type * from './presence.ts'
export { type EventStreamOptions, eventStream, eventText, type NodeResponse, sendEvents } from './sse.ts'
