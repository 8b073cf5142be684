import { expect, test } from 'vitest'
import { scenarios } from './scenarios.ts'

// The short form of `npm run test:vendor`: a busy machine may make the fleet slow, but never let it exceed the limit.
const short = ['quiet', 'one process is killed', 'Redis loses its memory']

test.each(scenarios.filter(({ name }) => short.includes(name)))(
  'no rolling second at the vendor has more than 25 arrivals: $name',
  async ({ run }) => {
    const { most, arrivals, wrong } = await run(9000)
    expect(wrong).toEqual([])
    expect(most).toBeLessThanOrEqual(25)
    // Slow is allowed here, no calls at all is not.
    expect(arrivals).toBeGreaterThan(50)
  },
  60_000,
)
