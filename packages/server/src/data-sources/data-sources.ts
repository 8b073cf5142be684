import { createFreshness, type Freshness, freshnessMetrics, type SourceFreshness } from 'sluice/cache'
import type { PartHealth } from 'sluice/internal'
import { openRedis } from 'sluice/redis'
import type { ServerConfig } from '../config/config.ts'
import type { DaemonMetrics } from '../metrics/daemon-metrics.ts'
import type { OpenLimiter } from '../open-limiter.ts'
import type { Opened } from '../opened.ts'
import type { DataSource } from '../shapes/operating.ts'

/** The data sources that the daemon is configured to watch. */
export interface DataSources {
  /** Ready while none is stale; `sources` is null while Redis cannot be asked. */
  health(): Promise<PartHealth & { readonly sources: readonly DataSource[] | null }>
}

/** Reads how fresh the data sources of the configuration are, for `/ready` and as metrics; undefined for none. */
export async function openDataSources(
  { dataSources, deadlineMs, redisPrefix: prefix }: ServerConfig,
  { client }: OpenLimiter,
  metrics: DaemonMetrics,
  opened: Opened,
): Promise<DataSources | undefined> {
  if (client === undefined || dataSources.size === 0) return undefined
  const opening = [...dataSources].map(async ([service, sources]) => {
    const redis = openRedis(client, { service, prefix, reports: false })
    return [service, await createFreshness({ redis, sources, redisDeadline: deadlineMs })] as const
  })
  const parts = await Promise.all(opening)
  const read = async (): Promise<SourceFreshness[]> => {
    const all = await Promise.all(
      parts.map(async ([service, freshness]) =>
        (await freshness.read()).map((each) => ({ ...each, source: `${service}/${each.source}` })),
      ),
    )
    return all.flat()
  }
  const together: Pick<Freshness, 'read'> = { read }
  for (const [, freshness] of parts) opened.push(() => freshness.close())
  opened.push(metrics.add(freshnessMetrics(together)))
  return {
    async health() {
      const sources = await read().then(
        (all) => all.map(standing),
        () => null,
      )
      const reasons =
        sources === null
          ? ['Redis cannot tell how fresh the data sources are.']
          : sources.filter(({ stale }) => stale).map(({ source }) => `The data source ${source} is stale.`)
      return { ready: reasons.length === 0, reasons, warnings: [], sources }
    },
  }
}

function standing({ source, stale, staleMs, ageMs }: SourceFreshness): DataSource {
  return { source, stale, staleSeconds: seconds(staleMs), ageSeconds: seconds(ageMs) }
}

const seconds = (ms: number): number | null => (Number.isFinite(ms) ? Math.round(ms) / 1000 : null)
