import { expect, test } from 'vitest'
import { scenarios } from './scenarios.ts'

// The short form of `npm run test:vendor`: a busy machine may make the fleet slow, but never let it exceed the limit.
const short = [
  'answers after 500 ms, 4 processes',
  'one process is killed, answers after 0 ms',
  'Redis loses its memory, answers after 1000 ms',
]

test.each(scenarios.filter(({ name }) => short.includes(name)))(
  'no rolling second at the vendor has more than 25 arrivals: $name',
  async ({ run }) => {
    const { most, arrivals, wrong } = await run(13_000)
    expect(wrong).toEqual([])
    expect(most).toBeLessThanOrEqual(25)
    // Slow is allowed here, no calls at all is not.
    expect(arrivals).toBeGreaterThan(50)
  },
)
