import { fileURLToPath } from 'node:url'
import * as grpc from '@grpc/grpc-js'
import { loadSync, type PackageDefinition } from '@grpc/proto-loader'
import type { Logger } from 'pino'
import type { ServerConfig } from '../config/config.ts'
import { contextOf, type Tls } from '../config/secrets/tls.ts'
import type { FileBacked } from '../connections/file-backed.ts'
import type { DaemonMetrics } from '../metrics/daemon-metrics.ts'
import {
  InvalidRequest,
  type RateLimitParts,
  type RateLimitRequest,
  type RateLimitResponse,
  shouldRateLimit,
} from './rate-limit-service.ts'

/** A gRPC server that listens. */
export interface GrpcListener {
  readonly url: string
  /**
   * Reports to health checks that it is ending, answers what was accepted, and ends; after `drainMs` it ends
   * regardless.
   */
  close(drainMs: number): Promise<void>
}

const service = 'envoy.service.ratelimit.v3.RateLimitService'
const maxMessageBytes = 1024 * 1024
const maxConnectionAgeMs = 300_000

/** Serves Envoy's rate-limit protocol and the standard health service. */
export async function listenGrpc(
  parts: RateLimitParts,
  config: ServerConfig,
  called: DaemonMetrics['called'],
  log: Logger,
): Promise<GrpcListener> {
  const server = new grpc.Server({
    'grpc.max_receive_message_length': maxMessageBytes,
    // Otherwise Envoy never closes its one connection, and a replica that was added would get no calls.
    'grpc.max_connection_age_ms': maxConnectionAgeMs,
    'grpc.max_connection_age_grace_ms': 10_000,
  })
  const definitions = loadProtos()
  const health = healthService([service])
  const answer: grpc.handleUnaryCall<RateLimitRequest, RateLimitResponse> = async function answer(call, respond) {
    const startedMs = performance.now()
    try {
      const response = await shouldRateLimit(parts, call.request)
      called('OK', performance.now() - startedMs)
      respond(null, response)
    } catch (error) {
      const code = error instanceof InvalidRequest ? grpc.status.INVALID_ARGUMENT : grpc.status.UNAVAILABLE
      if (code === grpc.status.UNAVAILABLE) log.error({ err: error }, 'a rate-limit call failed')
      called(grpc.status[code], performance.now() - startedMs)
      respond({ code, details: (error as Error).message })
    }
  }
  server.addService(definitions[service] as grpc.ServiceDefinition, { ShouldRateLimit: answer as never })
  server.addService(definitions['grpc.health.v1.Health'] as grpc.ServiceDefinition, health.handlers as never)
  const { port, unfollow } = await bind(server, config)
  let closing: Promise<void> | undefined
  return {
    url: `${config.grpcHost.includes(':') ? `[${config.grpcHost}]` : config.grpcHost}:${port}`,
    close(drainMs) {
      unfollow()
      closing ??= drain(server, health.end, drainMs)
      return closing
    },
  }
}

async function drain(server: grpc.Server, tellHealth: () => void, drainMs: number): Promise<void> {
  tellHealth()
  const force = setTimeout(() => server.forceShutdown(), drainMs)
  await new Promise<void>((resolve) => server.tryShutdown(() => resolve()))
  clearTimeout(force)
}

function loadProtos(): PackageDefinition {
  const root = fileURLToPath(new URL('./proto', import.meta.url))
  return loadSync(['envoy/service/ratelimit/v3/rls.proto', 'grpc/health/v1/health.proto'], {
    includeDirs: [root],
    longs: Number,
    enums: String,
    defaults: true,
  })
}

/** Credentials that change with the files of the certificate; the base class is what tells the server. */
class LiveCredentials extends grpc.ServerCredentials {
  readonly unfollow: () => void

  constructor(tls: FileBacked<Tls>) {
    super({ requestCert: tls.current.clientCa !== undefined }, contextOf(tls.current))
    this.unfollow = tls.onChange((next) => this.updateSecureContextOptions(contextOf(next)))
  }

  _equals(other: grpc.ServerCredentials): boolean {
    return other === this
  }
}

function bind(
  server: grpc.Server,
  { grpcHost, grpcPort, tls }: ServerConfig,
): Promise<{ readonly port: number; readonly unfollow: () => void }> {
  const address = `${grpcHost.includes(':') ? `[${grpcHost}]` : grpcHost}:${grpcPort}`
  const live = tls && new LiveCredentials(tls)
  const unfollow = (): void => live?.unfollow()
  return new Promise((resolve, reject) => {
    server.bindAsync(address, live ?? grpc.ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve({ port, unfollow }),
    )
  })
}

interface HealthRequest {
  readonly service: string
}

type Watcher = grpc.ServerWritableStream<HealthRequest, { status: string }>

/** The standard health service: SERVING until the daemon is ending. */
function healthService(services: readonly string[]): { readonly handlers: object; end(): void } {
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
