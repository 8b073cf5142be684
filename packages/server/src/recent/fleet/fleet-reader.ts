import { SingleFlight } from 'sluice/internal'
import type { ReceivedReport, ReportReader } from 'sluice/reports'

/** How long reading the reports of the fleet may take. */
const withinMs = 1000

export interface FleetLook {
  readonly reports: readonly ReceivedReport[]
  /** Whether everything that may hold reports could be asked. */
  readonly complete: boolean
}

/**
 * Several pages and terminals that look at the same time share one look: the reports of a large fleet are megabytes.
 */
export function sharedLook(readers: readonly ReportReader[]): (service: string) => Promise<FleetLook> {
  const looks = new SingleFlight<string, FleetLook>()
  return (service) => looks.join(service, () => lookAtFleet(readers, service))
}

/**
 * Reads the reports of a service wherever they may be: in Redis, and those posted to this daemon. Each process counts
 * once.
 */
async function lookAtFleet(readers: readonly ReportReader[], service: string): Promise<FleetLook> {
  const looks = await Promise.allSettled(readers.map((reader) => reader.read(service, withinMs)))
  const newest = new Map<string, ReceivedReport>()
  for (const look of looks) {
    for (const each of look.status === 'fulfilled' ? look.value : []) {
      const known = newest.get(each.report.replica)
      if (known === undefined || each.ageMs < known.ageMs) newest.set(each.report.replica, each)
    }
  }
  return { reports: [...newest.values()], complete: looks.every(({ status }) => status === 'fulfilled') }
}

/** The services of which anything reports, in Redis or to this daemon; `own` is always among them. */
export async function servicesOf(
  readers: readonly ReportReader[],
  own: string,
): Promise<{ readonly services: string[]; readonly complete: boolean }> {
  const lists = await Promise.allSettled(readers.map((reader) => reader.services(withinMs)))
  const found = lists.flatMap((list) => (list.status === 'fulfilled' ? list.value : []))
  return {
    services: [...new Set([own, ...found])].sort((a, b) => a.localeCompare(b)),
    complete: lists.every(({ status }) => status === 'fulfilled'),
  }
}
