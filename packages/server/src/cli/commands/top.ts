import { setTimeout as sleep } from 'node:timers/promises'
import { type CliError, toCliError } from '../cli-error.ts'
import type { ExitCode, Input, Terminal } from '../command.ts'
import { daemonHttp } from '../target/daemon-http.ts'
import { rate } from '../terminal/numbers.ts'
import { safe } from '../terminal/text.ts'
import { type FrameState, frame } from '../top/frame.ts'
import { readSnapshot } from '../top/read-snapshot.ts'
import { partText, pipelineListing, upstreamListing } from '../top/reported-parts.ts'
import { Screen } from '../top/screen.ts'
import { type Snapshot, type View, viewOf } from '../top/snapshot.ts'

/** Watches the keys of a daemon until `q`, Ctrl-C or as often as was asked. */
export async function top(input: Input, terminal: Terminal): Promise<ExitCode> {
  const intervalMs = input.duration('interval', 100, 3_600_000) ?? 1000
  const daemon = daemonHttp(input)
  const rule = input.text('rule')
  const watch = new Watch({
    terminal,
    address: daemon.address,
    intervalMs,
    looks: input.whole('count', 1) ?? Number.POSITIVE_INFINITY,
    sort: input.text('sort') === 'denied' ? 'denied' : 'used',
    keep: (key) => rule === undefined || key.split('/')[1] === rule,
    look: () => readSnapshot(daemon),
  })
  return watch.run()
}

interface WatchOptions {
  readonly terminal: Terminal
  readonly address: string
  readonly intervalMs: number
  readonly looks: number
  readonly sort: FrameState['sort']
  readonly keep: (key: string) => boolean
  readonly look: () => Promise<Snapshot>
}

const ratesOverMs = 6000
/** Processes report every two seconds: the rate of a key is known after two looks that are further apart. */
const firstRatesMs = 2200

/** One run of `sluice top`. */
class Watch {
  readonly #options: WatchOptions
  readonly #screen: Screen | undefined
  readonly #stop = new AbortController()
  #sort: FrameState['sort']
  #paused = false
  /** The last looks; rates of keys are over several, as processes report only every two seconds. */
  readonly #looks: Snapshot[] = []
  #view: View | undefined
  #trouble: CliError | undefined

  constructor(options: WatchOptions) {
    this.#options = options
    this.#sort = options.sort
    this.#screen = options.terminal.live ? new Screen(options.terminal, (key) => this.#press(key)) : undefined
  }

  async run(): Promise<ExitCode> {
    const end = (): void => this.#stop.abort()
    const redraw = (): void => this.#draw()
    process.once('SIGINT', end).once('SIGTERM', end)
    process.stdout.on('resize', redraw)
    // The first look decides whether there is anything to watch; only then is the screen borrowed.
    await this.#look()
    if (this.#trouble !== undefined) throw this.#trouble
    // A screen shows rates as soon as there are any; a line that was printed cannot be corrected.
    if (this.#screen === undefined) {
      await this.#pause(Math.max(firstRatesMs, this.#options.intervalMs))
      if (!this.#stop.signal.aborted) await this.#look()
    }
    this.#screen?.open()
    try {
      this.#draw()
      for (let looks = 1; looks < this.#options.looks && !this.#stop.signal.aborted; looks++) {
        await this.#pause()
        if (this.#stop.signal.aborted) break
        if (!this.#paused) await this.#look()
        this.#draw()
      }
    } finally {
      this.#screen?.close()
      process.off('SIGINT', end).off('SIGTERM', end)
      process.stdout.off('resize', redraw)
    }
    return this.#trouble === undefined ? 0 : 3
  }

  #press(key: string): void {
    if (key === 'q' || key === '\u0003' || key === '\u0004') this.#stop.abort()
    if (key === 'p' || key === ' ') this.#paused = !this.#paused
    if (key === 'u') this.#sort = 'used'
    if (key === 'd') this.#sort = 'denied'
    if (!this.#stop.signal.aborted) this.#draw()
  }

  async #pause(ms: number = this.#options.intervalMs): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stop.signal }).catch(() => {})
  }

  async #look(): Promise<void> {
    try {
      const now = await this.#options.look()
      while (this.#looks.length > 1 && now.atMs - this.#looks[0]!.atMs > ratesOverMs) this.#looks.shift()
      this.#view = viewOf(now, this.#looks[0], this.#view, this.#options.keep)
      this.#looks.push(now)
      this.#trouble = undefined
    } catch (error) {
      this.#trouble = toCliError(error)
    }
  }

  #draw(): void {
    const { terminal, address } = this.#options
    if (this.#screen === undefined) {
      this.#print()
      return
    }
    const clock = new Date().toTimeString().slice(0, 8)
    const state = { address, clock, paused: this.#paused, sort: this.#sort, trouble: this.#trouble?.message }
    this.#screen.draw(frame(this.#view, state, terminal, terminal.style))
  }

  /** Without a screen every look is one line, or one JSON object. */
  #print(): void {
    const { terminal } = this.#options
    const view = this.#view
    if (this.#trouble !== undefined) terminal.note(`sluice: ${this.#trouble.message}`)
    if (this.#trouble !== undefined || view === undefined) return
    terminal.result({ at: new Date().toISOString(), ...view }, () => {
      const first = (title: string, keys: View['hottest']): string =>
        keys.length === 0
          ? ''
          : `  ${title} ${keys
              .slice(0, 3)
              .map(({ key, perSecond }) => `${safe(key)} ${rate(perSecond)}/s`)
              .join(', ')}`
      const rates = `${rate(view.allowedPerSecond)}/s allowed, ${rate(view.deniedPerSecond)}/s denied`
      const calls = [
        ...view.upstreams.map((each) => partText(upstreamListing, each)),
        ...view.pipelines.map((each) => partText(pipelineListing, each)),
      ]
        .map((each) => `  ${each}`)
        .join('')
      terminal.line(
        `${new Date().toISOString()}  ${rates}${first('used:', view.hottest)}${first('denied:', view.mostDenied)}${calls}`,
      )
    })
  }
}
