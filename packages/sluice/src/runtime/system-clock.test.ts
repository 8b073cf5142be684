import { describe, expect, it } from 'vitest'
import { systemClock } from './system-clock.ts'

const hourMs = 3_600_000

/** The two clocks of a machine, moved by the test. */
function machine() {
  const at = { wall: 1_800_000_000_000, monotonic: 5000 }
  const clock = systemClock({ wall: () => at.wall, monotonic: () => at.monotonic })
  const pass = (ms: number): void => {
    at.wall += ms
    at.monotonic += ms
  }
  return { at, clock, pass }
}

type Machine = ReturnType<typeof machine>

describe.each(['now', 'coarse'] as const)('the time of the machine by %s()', (method) => {
  /** The time in ms after each of some steps. */
  const readAfter = (...steps: ((machine: Machine) => void)[]): number[] => {
    const one = machine()
    const start = one.at.wall
    one.clock[method]!()
    return steps.map((step) => {
      step(one)
      return Math.floor(one.clock[method]!() / 1000) - start
    })
  }

  it('goes on with both clocks, also when nobody asked for a day', () => {
    expect(
      readAfter(
        ({ pass }) => pass(7),
        ({ pass }) => pass(24 * hourMs),
        ({ pass }) => pass(1),
      ),
    ).toEqual([7, 24 * hourMs + 7, 24 * hourMs + 8])
  })

  it('does not follow a wall clock that is wrong for a moment', () => {
    const times = readAfter(
      ({ at, pass }) => {
        pass(2000)
        at.wall += hourMs
      },
      ({ pass }) => pass(500),
      ({ at }) => {
        at.wall -= hourMs
      },
      ({ pass }) => pass(3000),
      ({ pass }) => pass(3000),
    )
    expect(times).toEqual([2000, 2500, 2500, 5500, 8500])
  })

  it('follows a step forward that lasts, and does not go back when it is taken back later', () => {
    const times = readAfter(
      ({ at, pass }) => {
        pass(2000)
        at.wall += hourMs
      },
      ({ pass }) => pass(1500),
      ({ pass }) => pass(1500),
      ({ at }) => {
        at.wall -= hourMs
      },
      ({ pass }) => pass(2000),
    )
    expect(times.at(2)).toBe(hourMs + 5000)
    expect(times.slice(3)).toEqual([hourMs + 5000, hourMs + 7000])
  })

  it('never goes back, and never stands still, when the wall clock is set back', () => {
    const times = readAfter(
      ({ at, pass }) => {
        pass(10)
        at.wall -= hourMs
      },
      ({ pass }) => pass(100),
      ({ pass }) => pass(2000),
    )
    expect(times).toEqual([10, 110, 2110])
  })
})
