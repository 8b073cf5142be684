import { callVendor } from './call-vendor.ts'
import { startReplica } from './replicas.ts'
import { mostInAnySecond, startVendor } from './vendor.ts'

export interface IngestResult {
  readonly replicas: number
  readonly calls: number
  readonly mostInAnySecond: number
  readonly perSecond: number
  readonly authorizations: readonly (string | undefined)[]
}

/** A scheduler gives `calls` queries to workers, which call the vendor through all replicas. */
export async function ingest(
  replicas: number,
  workers: number,
  calls: number,
  env: NodeJS.ProcessEnv,
): Promise<IngestResult> {
  const vendor = await startVendor()
  const settings = {
    NIVODA_ENDPOINT: vendor.url,
    NIVODA_USERNAME: 'user',
    NIVODA_PASSWORD: 'secret',
    INTERNAL_SERVICE_TOKEN: 'inside',
    ...env,
  }
  const proxies = await Promise.all(Array.from({ length: replicas }, () => startReplica(settings)))
  try {
    let next = 0
    const work = async (worker: number): Promise<void> => {
      const base = proxies[worker % proxies.length]!.url
      while (next < calls) await callVendor(`query ${next++}`, { ...settings, NIVODA_PROXY_BASE_URL: base })
    }
    await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))
    const { arrivalsMs } = vendor
    const seconds = (arrivalsMs.at(-1)! - arrivalsMs[0]!) / 1000
    return {
      replicas,
      calls: arrivalsMs.length,
      mostInAnySecond: mostInAnySecond(arrivalsMs),
      perSecond: (arrivalsMs.length - 1) / seconds,
      authorizations: [...vendor.authorizations],
    }
  } finally {
    await Promise.all(proxies.map((proxy) => proxy.stop()))
    vendor.close()
  }
}
