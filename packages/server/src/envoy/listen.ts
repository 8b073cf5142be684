import { fileURLToPath } from 'node:url'
import * as grpc from '@grpc/grpc-js'
import { loadSync, type PackageDefinition } from '@grpc/proto-loader'
import type { Logger } from 'pino'
import type { ServerConfig } from '../config/config.ts'
import { healthService } from './health-service.ts'
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
  called: (status: string) => void,
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
    try {
      const response = await shouldRateLimit(parts, call.request)
      called('OK')
      respond(null, response)
    } catch (error) {
      const code = error instanceof InvalidRequest ? grpc.status.INVALID_ARGUMENT : grpc.status.UNAVAILABLE
      if (code === grpc.status.UNAVAILABLE) log.error({ err: error }, 'a rate-limit call failed')
      called(grpc.status[code])
      respond({ code, details: (error as Error).message })
    }
  }
  server.addService(definitions[service] as grpc.ServiceDefinition, { ShouldRateLimit: answer as never })
  server.addService(definitions['grpc.health.v1.Health'] as grpc.ServiceDefinition, health.handlers as never)
  const port = await bind(server, config)
  let closing: Promise<void> | undefined
  return {
    url: `${config.grpcHost.includes(':') ? `[${config.grpcHost}]` : config.grpcHost}:${port}`,
    close(drainMs) {
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

function credentials({ tls }: ServerConfig): grpc.ServerCredentials {
  if (tls === undefined) return grpc.ServerCredentials.createInsecure()
  const { cert, key, clientCa } = tls
  return grpc.ServerCredentials.createSsl(
    clientCa ?? null,
    [{ cert_chain: cert, private_key: key }],
    clientCa !== undefined,
  )
}

function bind(server: grpc.Server, config: ServerConfig): Promise<number> {
  const { grpcHost, grpcPort } = config
  const address = `${grpcHost.includes(':') ? `[${grpcHost}]` : grpcHost}:${grpcPort}`
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials(config), (error, port) => (error ? reject(error) : resolve(port)))
  })
}
