import { addProcessPart } from '../runtime/process-parts.ts'
import { DiskShipper } from './disk-shipper.ts'
import { makeBufferDir } from './files/file-system.ts'
import { transportOf } from './flush/http-transport.ts'
import type { Transport } from './flush/transport.ts'
import { resolveOptions, type ShipperOptions } from './options.ts'
import { shipperId } from './owner/shipper-id.ts'
import { resendRejected } from './resend-rejected.ts'
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
  await makeBufferDir(resolved.fs, resolved.dir)
  const id = await shipperId(resolved.fs, resolved.dir)
  const endReport = addProcessPart({
    ...{ kind: 'shipper', name: resolved.name, stats: () => shipper.stats() },
    actions: {
      flush: async () => summary(await shipper.flush()),
      resend: async () => summary(await resendRejected(options)),
    },
  })
  const transport = (onGzipRefused: () => void): Transport => transportOf(resolved, id, onGzipRefused)
  const shipper = new DiskShipper(resolved, transport, endReport)
  await shipper.start()
  return shipper
}

/** Without the reason, which quotes what the server said. */
function summary(report: { readonly outcome: string; readonly sent: number; readonly rejected: number }): string {
  return `${report.outcome}, ${report.sent} sent, ${report.rejected} rejected`
}
