// For the server of the same version only. Nothing here is public: it changes without notice.
export { nearestWord } from '../core/did-you-mean.ts'
export { parseDuration } from '../core/duration.ts'
export { encodeKey, parseReadableKey, parseReadableParts } from '../core/key.ts'
export { readBounded } from './bounded-body.ts'
export { HealthQuestion, type PartHealth } from './part.ts'
export { SingleFlight } from './single-flight.ts'
export { type MachineClocks, systemClock } from './system-clock.ts'
export { type TimeLimit, withinTime } from './within-time.ts'
