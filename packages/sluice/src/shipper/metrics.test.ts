import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { prometheusMetrics } from '../metrics/prometheus.ts'
import { modelFiles } from '../testing/shipper/model-files.ts'
import { createShipper, shipperMetrics } from './index.ts'

test('counts events by their outcome, and shows what is pending', async () => {
  let isDown = true
  const shipper = await createShipper({
    dir: '/buffer',
    fs: modelFiles(),
    flushInterval: false,
    maxEventBytes: 100,
    backoff: { base: 0 },
    send: async () => {
      if (isDown) throw new Error('down')
    },
  })
  const registry = new Registry()
  prometheusMetrics(registry, [shipperMetrics(shipper, 'agent')])
  for (let n = 0; n < 3; n++) await shipper.ship({ n })
  await expect(shipper.ship('x'.repeat(200))).rejects.toThrow()
  await shipper.flush()
  const before = await registry.metrics()
  for (const line of [
    'sluice_shipper_events_total{shipper="agent",fate="stored"} 3',
    'sluice_shipper_events_total{shipper="agent",fate="refused"} 1',
    'sluice_shipper_events_total{shipper="agent",fate="lost"} 0',
    'sluice_shipper_pending_events{shipper="agent"} 3',
    'sluice_shipper_failures_total{shipper="agent",of="server"} 1',
    'sluice_shipper_backoff_level{shipper="agent"} 1',
    'sluice_shipper_breaker_state{shipper="agent",state="closed"} 1',
    'sluice_shipper_owner{shipper="agent"} 1',
  ]) {
    expect(before).toContain(`${line}\n`)
  }
  isDown = false
  await shipper.flush()
  const after = await registry.metrics()
  expect(after).toContain('sluice_shipper_events_total{shipper="agent",fate="sent"} 3\n')
  expect(after).toContain('sluice_shipper_pending_events{shipper="agent"} 0\n')
  await shipper.close()
})
