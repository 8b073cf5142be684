import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { prometheusMetrics } from '../metrics/prometheus.ts'
import { createEgress } from './create-egress.ts'
import { egressMetrics } from './metrics.ts'
import { startVendor } from './testing/vendor.ts'

test('metrics show waits, refusals, responses and the use of limits', async () => {
  const vendor = await startVendor()
  const upstream = {
    name: 'vendor',
    origin: vendor.origin,
    limits: { amount: 2, per: '300ms' },
    maxQueue: 1,
    arrival: 'response' as const,
    maxWait: '5s',
  }
  const egress = await createEgress({ policy: { service: 's', upstreams: [upstream] } })
  const registry = new Registry()
  const metrics = prometheusMetrics(registry, [egressMetrics(egress)])
  const calls = Array.from({ length: 4 }, () => egress.fetch(vendor.origin).catch(() => undefined))
  await expect.poll(() => egress.stats()[0]!.depth).toBeGreaterThan(0)
  const text = await registry.metrics()
  expect(text).toMatch(/sluice_egress_queue_depth\{upstream="vendor"\} 1/)
  expect(text).toMatch(/sluice_egress_limit_used\{upstream="vendor",limit="per-300ms"\} 2/)
  await Promise.all(calls)
  const after = await registry.metrics()
  expect(after).toMatch(/sluice_egress_refused_total\{upstream="vendor",reason="queue-full"\} 1/)
  expect(after).toMatch(/sluice_egress_responses_total\{upstream="vendor",status="200"\} 3/)
  expect(after).toMatch(/sluice_egress_wait_seconds_count\{upstream="vendor"\} 3/)
  metrics.close()
  await egress.close()
  await vendor.close()
})
