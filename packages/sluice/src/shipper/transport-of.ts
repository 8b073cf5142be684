import { httpTransport } from './flush/http-transport.ts'
import { customTransport, type Transport } from './flush/transport.ts'
import type { ResolvedShipperOptions } from './options.ts'

/** The transport that the options choose: HTTP, or the user's own functions. */
export function transportOf(options: ResolvedShipperOptions, shipper: string, onGzipRefused: () => void): Transport {
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
