import type { ReportPart } from '../core/observe/report.ts'

/** Weak, as a breaker may be dropped without being closed. */
const parts = new Set<WeakRef<ReportPart>>()
// Workers with a compatibility date before May 2025 have neither this nor WeakRef; nobody reads reports there.
const dropped =
  typeof FinalizationRegistry === 'undefined'
    ? undefined
    : new FinalizationRegistry<WeakRef<ReportPart>>((reference) => parts.delete(reference))

/**
 * Adds a part that has no Redis handle to what this process reports, for as long as somebody refers to it or until the
 * returned function is called.
 */
export function addProcessPart(part: ReportPart): () => void {
  if (dropped === undefined) return () => {}
  const reference = new WeakRef(part)
  parts.add(reference)
  dropped.register(part, reference, part)
  return () => {
    parts.delete(reference)
    dropped.unregister(part)
  }
}

/** The parts of this process that have no Redis handle. */
export function processParts(): readonly ReportPart[] {
  return [...parts].flatMap((reference) => reference.deref() ?? [])
}
