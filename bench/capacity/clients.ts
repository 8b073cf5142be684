import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { BaseOrder, OfferOrder, Order, Outcome } from './offer.ts'

const run = promisify(execFile)

/** Runs clients in a separate process. */
async function clients(order: Order): Promise<unknown> {
  const path = fileURLToPath(new URL('./offer-child.ts', import.meta.url))
  const { stdout } = await run(process.execPath, [...process.execArgv, path, JSON.stringify(order)])
  return JSON.parse(stdout)
}

export async function offerFrom(order: Omit<OfferOrder, 'kind'>): Promise<Outcome> {
  return (await clients({ kind: 'offer', ...order })) as Outcome
}

export async function baseRateFrom(order: Omit<BaseOrder, 'kind'>): Promise<number> {
  return (await clients({ kind: 'base', ...order })) as number
}
