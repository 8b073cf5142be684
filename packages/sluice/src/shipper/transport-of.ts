import { httpTransport } from './flush/http-transport.ts'
import { customTransport, type Transport } from './flush/transport.ts'
import type { ResolvedShipperOptions } from './options.ts'

/** The transport that the options choose: HTTP, or the user's own functions. */
export function transportOf(options: ResolvedShipperOptions, shipper: string, onGzipRefused: () => void): Transport {
  const { endpoint, capacityEndpoint, send } = options
  if (send !== undefined) return customTransport({ ...options, send })
  return httpTransport({
    ...options,
    ...{ endpoint: endpoint!, capacityEndpoint: capacityEndpoint!, shipper, onGzipRefused },
  })
}
