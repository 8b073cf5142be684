import { createEgress } from 'sluice/egress'
import { progress } from '../report/print.ts'

const waiters = 10_000
const budgetBytes = 64 * 1024 * 1024

/** How much heap waiting calls use: 10,000 of them must fit into 64 MB. */
export async function measureWaiters(): Promise<{ readonly bytesPerWaiter: number; readonly fits: boolean }> {
  const origin = 'http://vendor.example'
  const upstream = { name: 'vendor', origin, limits: { rps: 1 }, maxWait: '1d', maxQueue: waiters * 2 }
  const egress = await createEgress({ policy: { service: 'waiters', upstreams: [upstream] } })
  const never = (_: unknown, handler: Record<string, (...args: unknown[]) => unknown>): boolean => {
    handler.onConnect?.(() => undefined)
    return true
  }
  const dispatch = egress.interceptor()(never as never) as unknown as (request: object, handler: object) => boolean
  const one = (): void => {
    const handler = { onConnect() {}, onHeaders: () => true, onData: () => true, onComplete() {}, onError() {} }
    dispatch({ origin, path: '/', method: 'GET' }, handler)
  }
  const settle = async (): Promise<number> => {
    await new Promise((resolve) => setTimeout(resolve, 50))
    globalThis.gc?.()
    return process.memoryUsage().heapUsed
  }
  one()
  const before = await settle()
  for (let i = 0; i < waiters; i++) one()
  const bytesPerWaiter = Math.round(((await settle()) - before) / waiters)
  const isAll = egress.stats()[0]!.waiting === waiters
  await egress.close()
  if (!isAll) throw new Error('not all of them wait')
  const fits = bytesPerWaiter * waiters <= budgetBytes
  progress(`egress: ${bytesPerWaiter} bytes per waiting call${globalThis.gc ? '' : ' (with garbage: no --expose-gc)'}`)
  return { bytesPerWaiter, fits }
}
