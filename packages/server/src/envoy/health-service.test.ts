import { fileURLToPath } from 'node:url'
import * as grpc from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { expect, test } from 'vitest'
import { startDaemon } from '../testing/started.ts'

test('the standard health service says SERVING, and what it does not know', async () => {
  const daemon = await startDaemon({ 'grpc-port': '0' })
  const definition = loadSync('grpc/health/v1/health.proto', {
    includeDirs: [fileURLToPath(new URL('./proto', import.meta.url))],
    enums: String,
  })
  const Health = (
    grpc.loadPackageDefinition(definition) as never as {
      grpc: { health: { v1: { Health: grpc.ServiceClientConstructor } } }
    }
  ).grpc.health.v1.Health
  const health = new Health(daemon.grpcUrl!, grpc.credentials.createInsecure())
  const check = (service: string) =>
    new Promise((resolve) =>
      health.Check!({ service }, (error: { code: number } | null, answer: { status: string }) =>
        resolve(error ? error.code : answer.status),
      ),
    )
  expect(await check('')).toBe('SERVING')
  expect(await check('envoy.service.ratelimit.v3.RateLimitService')).toBe('SERVING')
  expect(await check('nothing')).toBe(grpc.status.NOT_FOUND)
  health.close()
  await daemon.close()
})
