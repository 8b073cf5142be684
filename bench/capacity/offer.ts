import { Agent, request } from 'node:http'

export interface BaseOrder {
  readonly kind: 'base'
  readonly url: string
  readonly seconds: number
  /** A new connection for each request. */
  readonly reconnect: boolean
}

export interface OfferOrder {
  readonly kind: 'offer'
  readonly url: string
  readonly perSecond: number
  readonly seconds: number
  readonly deadlineMs: number
  readonly reconnect: boolean
}

export type Order = BaseOrder | OfferOrder

/** The result, per second. */
export interface Outcome {
  readonly offered: number
  /** Answered with 200 before the deadline. */
  readonly inTime: number
  readonly shed: number
  readonly late: number
  /** Of those in time. */
  readonly p99Ms: number
}

/** Sends requests at a fixed rate, whatever happens to earlier ones, as clients on the internet do. */
export async function offer({ url, perSecond, seconds, deadlineMs, reconnect }: OfferOrder): Promise<Outcome> {
  const agent = new Agent({ keepAlive: !reconnect, maxFreeSockets: 1000 })
  const took: number[] = []
  const counts = { inTime: 0, shed: 0, late: 0 }
  const one = (): Promise<void> =>
    new Promise((resolve) => {
      const startedMs = performance.now()
      let settled = false
      const settle = (what: keyof typeof counts): void => {
        if (settled) return
        settled = true
        clearTimeout(timer)
        counts[what]++
        resolve()
      }
      const sent = request(url, { agent }, (response) => {
        response.resume().once('end', () => {
          const ms = performance.now() - startedMs
          if (response.statusCode === 503) return settle('shed')
          if (response.statusCode === 200 && ms <= deadlineMs) took.push(ms)
          return settle(response.statusCode === 200 && ms <= deadlineMs ? 'inTime' : 'late')
        })
      })
      sent.once('error', () => settle('late'))
      const timer = setTimeout(() => sent.destroy(new Error('too late')), deadlineMs)
      sent.end()
    })
  const open: Promise<void>[] = []
  const startedMs = performance.now()
  for (let due = 0; due < seconds * perSecond; ) {
    const now = Math.min(seconds, (performance.now() - startedMs) / 1000)
    for (; due < now * perSecond; due++) open.push(one())
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  await Promise.all(open)
  agent.destroy()
  took.sort((a, b) => a - b)
  const each = (total: number): number => Math.round(total / seconds)
  return {
    offered: each(open.length),
    ...{ inTime: each(counts.inTime), shed: each(counts.shed), late: each(counts.late) },
    p99Ms: took[Math.floor(took.length * 0.99)] ?? 0,
  }
}
