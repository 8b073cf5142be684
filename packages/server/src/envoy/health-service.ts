import * as grpc from '@grpc/grpc-js'

interface HealthRequest {
  readonly service: string
}

type Watcher = grpc.ServerWritableStream<HealthRequest, { status: string }>

/** The standard health service: SERVING until the daemon is ending. */
export function healthService(services: readonly string[]): { readonly handlers: object; end(): void } {
  let serving = true
  const watchers = new Set<Watcher>()
  const isKnown = (name: string): boolean => name === '' || services.includes(name)
  const status = (): string => (serving ? 'SERVING' : 'NOT_SERVING')
  return {
    handlers: {
      Check(call: { request: HealthRequest }, respond: grpc.sendUnaryData<{ status: string }>) {
        if (isKnown(call.request.service)) respond(null, { status: status() })
        else respond({ code: grpc.status.NOT_FOUND, details: 'there is no such service' })
      },
      Watch(call: Watcher) {
        call.write({ status: isKnown(call.request.service) ? status() : 'SERVICE_UNKNOWN' })
        if (isKnown(call.request.service)) watchers.add(call)
        call.on('cancelled', () => watchers.delete(call))
      },
    },
    end() {
      serving = false
      for (const watcher of watchers) {
        watcher.write({ status: status() })
        // A stream without end would hold up the shutdown.
        watcher.end()
      }
      watchers.clear()
    },
  }
}
