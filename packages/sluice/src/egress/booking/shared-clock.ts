import { guardUs } from './constants.ts'
import type { Exchange, ExchangeReply, Jump } from './messages.ts'

/** What the clocks of a process and of the server may drift apart by. */
const slew = 0.0005
/**
 * Behind shared time by more than this, for so many exchanges in a row, a process has it cut down to what is verified:
 * at a few milliseconds that may be delays of the network, which pass.
 */
const lagging: readonly { readonly us: number; readonly times: number }[] = [
  { us: 5000, times: 16 },
  { us: 50_000, times: 4 },
]

/**
 * What a process knows about shared time: what to add to its monotonic clock. It vouches with that for how much time
 * has passed, so it must never be ahead: it learns verified time only, and forgets it when time was lost or state is
 * new.
 */
export class SharedClock {
  #offsetUs: number | undefined
  /** No more than this can be right, unless the server's clock gains. */
  #mostUs = 0
  #epoch = 0
  #lostUs = 0
  #marker = ''
  #learnedUs = 0
  #lags: number[] = []
  /** To be sent, and sent with the last exchange. */
  #jump: Jump | undefined
  #sent: Jump | undefined

  /** For an exchange that is sent at this time of the monotonic clock. */
  vouch(sentUs: number): Pick<Exchange, 'expectUs' | 'epoch' | 'lostUs' | 'jump'> {
    this.#sent = this.#jump
    this.#jump = undefined
    const expectUs = this.#offsetUs === undefined ? -1 : Math.max(0, this.#offsetUs + sentUs)
    return { expectUs, epoch: this.#epoch, lostUs: this.#lostUs, ...(this.#sent ? { jump: this.#sent } : {}) }
  }

  /** Whether shared time is to be corrected by the next exchange. */
  get hasJump(): boolean {
    return this.#jump !== undefined
  }

  learn(reply: ExchangeReply, sentUs: number, receivedUs: number): void {
    const [latest, verified] = [reply.timeUs - sentUs, reply.verifiedUs - receivedUs]
    // A correction that this process asked for brings shared time to what it knows already.
    const isDone = this.#sent !== undefined && reply.offsetUs === this.#sent.offsetUs - this.#sent.us
    const epoch = this.#epoch + (isDone && this.#sent!.isGain ? 1 : 0)
    if (this.#offsetUs === undefined || this.#marker !== reply.marker || epoch !== reply.epoch) {
      this.#offsetUs = verified
      this.#mostUs = latest
      this.#lags = []
      this.#jump = undefined
    } else {
      const cutUs = reply.lostUs - this.#lostUs
      const driftUs = Math.floor(slew * (receivedUs - this.#learnedUs))
      this.#offsetUs -= cutUs - (isDone && !this.#sent!.isGain ? this.#sent!.us : 0)
      this.#mostUs += driftUs - cutUs - (isDone && this.#sent!.isGain ? this.#sent!.us : 0)
      this.#correct(reply, receivedUs)
      this.#offsetUs = Math.min(latest, Math.max(this.#offsetUs + driftUs, verified))
      this.#mostUs = Math.min(this.#mostUs, latest)
    }
    this.#marker = reply.marker
    this.#epoch = reply.epoch
    this.#lostUs = reply.lostUs
    this.#learnedUs = receivedUs
    this.#sent = undefined
  }

  /**
   * Shared time is ahead of what is verified: for certain if it passed faster than it can have; otherwise what is not
   * verified is given up after a while. Losing time is always safe, and being late costs rate.
   */
  #correct({ timeUs, offsetUs }: ExchangeReply, receivedUs: number): void {
    const aheadUs = timeUs - this.#offsetUs! - receivedUs
    const isGain = timeUs - this.#mostUs - receivedUs > guardUs
    this.#lags = [aheadUs, ...this.#lags].slice(0, 16)
    const found = lagging.map(({ us, times }) => {
      const leastUs = this.#lags.length < times ? 0 : Math.min(...this.#lags.slice(0, times))
      return leastUs > us ? leastUs : 0
    })
    const us = isGain ? aheadUs : Math.max(...found)
    if (us === 0) return
    this.#jump = { offsetUs, us, isGain }
    this.#lags = []
  }
}
