import { describe, expect, it } from 'vitest'
import { AcceptWait } from '../load/request-wait.ts'
import { delayPoints, scale } from '../load/scale.ts'
import { AdmissionController } from './admission-controller.ts'

const [workMs, refuseMs, deadlineMs, seconds] = [5, 0.15, 500, 15]
/** The most requests that it can serve. */
const basePerSecond = 1000 / workMs

/** Pseudo-random numbers between 0 and 1, the same in every run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

interface Run {
  readonly multiple: number
  /**
   * One connection per request: libuv accepts one in each turn. Otherwise a turn reads all requests that have arrived.
   */
  readonly reconnect: boolean
  readonly guarded?: boolean
}

/**
 * A service with one event loop, with random arrivals that do not wait for answers; returns shares of the base rate.
 */
function simulate({ multiple, reconnect, guarded = true }: Run): { inTime: number; shed: number; late: number } {
  const random = seeded(7)
  const controller = new AdmissionController(random)
  const accept = new AcceptWait(0)
  const arrivals: number[] = []
  for (let at = 0; at < seconds * 1000; ) {
    at += (-Math.log(1 - random()) * workMs) / multiple
    arrivals.push(at)
  }
  const counts = { inTime: 0, shed: 0, late: 0 }
  let [nowMs, next, sampledMs, queueSampledMs, longestTurnMs] = [0, 0, 0, 0, 0]
  const waiting = (): number => {
    let count = 0
    while ((arrivals[next + count] ?? Number.POSITIVE_INFINITY) <= nowMs) count++
    return count
  }
  while (next < arrivals.length) {
    nowMs = Math.max(nowMs, arrivals[next] as number)
    const turnMs = nowMs
    for (let ready = reconnect ? 1 : waiting(); ready > 0; ready--) {
      const arrivedMs = arrivals[next++] as number
      if (reconnect) accept.accepted()
      if (reconnect && nowMs - queueSampledMs >= 25) {
        accept.sample(waiting(), nowMs)
        queueSampledMs = nowMs
      }
      const waitedMs = Math.max(nowMs - turnMs, accept.waitedMs(nowMs))
      const admitted = !guarded || controller.admit('normal', waitedMs, nowMs)
      nowMs += admitted ? workMs : refuseMs
      counts[admitted ? (nowMs - arrivedMs <= deadlineMs ? 'inTime' : 'late') : 'shed']++
    }
    longestTurnMs = Math.max(longestTurnMs, nowMs - turnMs)
    if (nowMs - sampledMs >= 250) {
      controller.adjust(scale(Math.max(longestTurnMs, accept.waitedMs(nowMs)), delayPoints))
      sampledMs = nowMs
      longestTurnMs = 0
    }
  }
  const share = (count: number): number => count / ((nowMs / 1000) * basePerSecond)
  return { inTime: share(counts.inTime), shed: share(counts.shed), late: share(counts.late) }
}

/** How many of a burst are let through. */
function burst(size: number, reconnect: boolean): number {
  const controller = new AdmissionController(() => 0.5)
  const accept = new AcceptWait(0)
  if (reconnect) accept.sample(size, 1)
  let [admitted, nowMs] = [0, 1]
  for (let i = 0; i < size; i++) {
    const isAdmitted = controller.admit('normal', reconnect ? accept.waitedMs(nowMs) : nowMs - 1, nowMs)
    accept.accepted()
    if (isAdmitted) admitted++
    nowMs += isAdmitted ? workMs : refuseMs
  }
  return admitted
}

describe.each([false, true])('with a connection for each request: %s', (reconnect) => {
  it.each([2, 5])('keeps its goodput above four fifths at %s times what it can do', (multiple) => {
    const { inTime, late } = simulate({ multiple, reconnect })
    expect(inTime).toBeGreaterThan(0.8)
    expect(late).toBeLessThan(0.02)
  })

  it('sheds nothing at 0.7 times what it can do', () => {
    expect(simulate({ multiple: 0.7, reconnect })).toMatchObject({ shed: 0, late: 0 })
  })

  it('answers a burst of 30 requests to an idle service, and sheds the end of one of 300', () => {
    expect(burst(30, reconnect)).toBe(30)
    expect(burst(300, reconnect)).toBeLessThan(100)
  })

  it('loses nearly all of it without the guard', () => {
    expect(simulate({ multiple: 2, reconnect, guarded: false }).inTime).toBeLessThan(0.1)
  })
})
