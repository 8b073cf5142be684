/** What the demo does at a time. */
export interface DemoMoment {
  readonly isStoreAway: boolean
  /** Which of the two policies is in force. */
  readonly isTight: boolean
  /** Requests per second by tenant. */
  readonly rates: Readonly<Record<string, number>>
  readonly exportsPerSecond: number
  /** Whether the vendor of the model fails, and how many texts it is asked about per second. */
  readonly isModelAway: boolean
  readonly textsPerSecond: number
}

const outage = { firstMs: 40_000, everyMs: 240_000, forMs: 20_000 }
const change = { firstMs: 80_000, everyMs: 300_000, forMs: 120_000 }
const modelOutage = { firstMs: 100_000, everyMs: 240_000, forMs: 15_000 }
const burst = { firstMs: 10_000, everyMs: 90_000, forMs: 35_000 }

/**
 * The course of the demo, by the time since it started: steady tenants that breathe, one that is noisy for half a
 * minute, an outage of the store for 20 s every four minutes, and a policy that is tightened and eased again. All of
 * it is seen within the first two minutes.
 */
export function demoAt(ms: number): DemoMoment {
  const wave = (periodMs: number, phase: number): number => 1 + 0.25 * Math.sin((2 * Math.PI * ms) / periodMs + phase)
  return {
    isStoreAway: isIn(outage, ms),
    isTight: isIn(change, ms),
    rates: {
      umbrella: 26 * wave(180_000, 0),
      initech: 18 * wave(240_000, 1),
      globex: 8 * wave(120_000, 2),
      'acme-labs': isIn(burst, ms) ? 34 : 5 * wave(150_000, 3),
      'hobby-project': 1.3 * wave(100_000, 4),
      'two-people-and-a-dog': 0.8,
    },
    exportsPerSecond: 0.3,
    isModelAway: isIn(modelOutage, ms),
    textsPerSecond: isIn(burst, ms) ? 36 : 14 * wave(160_000, 5),
  }
}

function isIn({ firstMs, everyMs, forMs }: typeof outage, ms: number): boolean {
  return ms >= firstMs && (ms - firstMs) % everyMs < forMs
}
