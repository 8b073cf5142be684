import { DiskShipper } from './disk-shipper.ts'
import { httpTransport } from './flush/http-transport.ts'
import { customTransport, type Transport } from './flush/transport.ts'
import { type ResolvedShipperOptions, resolveOptions, type ShipperOptions } from './options.ts'
import { shipperId } from './owner/shipper-id.ts'
import type { Shipper } from './shipper.ts'

/**
 * Opens a buffer in a directory and begins to drain it.
 *
 * @example
 * const shipper = await createShipper({ dir: 'buffer', endpoint: 'https://collector.example/v1/events' })
 * await shipper.ship({ type: 'tool-call', ms: 12 }) // resolves when it is on disk
 * await shipper.flush()
 * await shipper.close()
 */
export async function createShipper(options: ShipperOptions): Promise<Shipper> {
  const resolved = resolveOptions(options)
  await resolved.fs.makeDir(resolved.dir)
  const id = await shipperId(resolved.fs, resolved.dir)
  const shipper = new DiskShipper(resolved, (onGzipRefused) => transportOf(resolved, id, onGzipRefused))
  await shipper.start()
  return shipper
}

function transportOf(options: ResolvedShipperOptions, shipper: string, onGzipRefused: () => void): Transport {
  const { endpoint, capacityEndpoint, send, capacity, headers, timeoutMs, gzipAboveBytes, clock } = options
  if (send !== undefined) return customTransport({ send, capacity, timeoutMs, clock })
  return httpTransport({
    endpoint: endpoint!,
    capacityEndpoint: capacityEndpoint!,
    shipper,
    headers,
    timeoutMs,
    gzipAboveBytes,
    clock,
    onGzipRefused,
  })
}
