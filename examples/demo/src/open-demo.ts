import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Daemon, resolveConfig, serve } from '@sluice/server'
import { daemonReports, startReports } from 'sluice/reports'
import { startRedis } from 'sluice/testing'
import { openModel } from './model.ts'
import { policyOf, rpm } from './policy.ts'
import { startTraffic } from './traffic.ts'

export interface Demo {
  readonly daemon: Daemon
  close(): Promise<void>
}

/** A daemon with a Redis and a policy of its own, and a service that asks it. */
export async function openDemo(options: {
  readonly port: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where the policy is written; in a temporary folder when left out. */
  readonly policyFile?: string
}): Promise<Demo> {
  const closers: (() => unknown)[] = []
  const close = async (): Promise<void> => {
    for (const each of closers.splice(0).reverse()) await each()
  }
  try {
    const redis = await startRedis()
    closers.push(() => redis.stop())
    const folder = mkdtempSync(join(tmpdir(), 'sluice-demo-'))
    closers.push(() => rmSync(folder, { recursive: true, force: true }))
    const { policyFile = join(folder, 'sluice.yaml') } = options
    writeFileSync(policyFile, policyOf(rpm.usual))
    const flags = { port: options.port, redis: redis.url, policy: policyFile, 'log-level': 'silent' }
    const daemon = await serve(resolveConfig(flags, options.env))
    closers.push(() => daemon.close())
    const model = await openModel()
    closers.push(() => model.close())
    const to = daemonReports(daemon.url, { token: daemon.adminToken })
    const reports = startReports({ service: daemon.service, to, parts: model.parts })
    closers.push(() => reports.close())
    closers.push(startTraffic({ url: daemon.url, redis, model, policyFile }))
    return { daemon, close }
  } catch (error) {
    await close()
    throw error
  }
}
