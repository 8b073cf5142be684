import { Agent, request } from 'node:http'
import type { BaseOrder } from './offer.ts'

/**
 * The capacity of a service: answers per second to a few callers, one request after the other, so that nothing queues.
 */
export async function baseRate({ url, seconds, reconnect }: BaseOrder): Promise<number> {
  const agent = new Agent({ keepAlive: !reconnect })
  const startedMs = performance.now()
  const endMs = startedMs + seconds * 1000
  let answers = 0
  const caller = async (): Promise<void> => {
    while (performance.now() < endMs) if ((await status(url, agent)) === 200) answers++
  }
  await Promise.all([caller(), caller(), caller(), caller()])
  const tookMs = performance.now() - startedMs
  agent.destroy()
  return (answers / tookMs) * 1000
}

function status(url: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url, { agent }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0))
    })
      .once('error', reject)
      .end()
  })
}
