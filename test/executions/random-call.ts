export const methods = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'POST', 'PATCH'] as const
/** A long stream is more than is read before a call is booked. */
const bodies = ['none', 'text', 'buffer', 'stream', 'long stream'] as const
const answers = [
  { status: 200 },
  { status: 429 },
  { status: 429, retryAfter: '0.02' },
  { status: 503 },
  { status: 503, retryAfter: '0.02' },
  { status: 500 },
  { status: 400 },
  { status: 408 },
  { status: 502 },
  { status: 504 },
] as const
const cuts = ['before the body is read', 'before the head', 'after the head', 'in the body'] as const

/** What the vendor does with one execution. */
export interface Reaction {
  readonly status: number
  readonly retryAfter?: string
  /** Where the vendor ends the connection, or that it never answers; undefined for a whole response. */
  readonly cut: (typeof cuts)[number] | 'never answers' | undefined
  /** The body is sent in so many pieces, each after a pause of a millisecond. */
  readonly pieces: number
}

/** One call and what the vendor does each time it arrives. */
export interface RandomCall {
  readonly id: number
  readonly method: (typeof methods)[number]
  readonly hasKey: boolean
  readonly body: (typeof bodies)[number]
  readonly reactions: readonly Reaction[]
}

/** Makes a call; `random` returns numbers from 0 to 1. The vendor has a reaction for more executions than allowed. */
export function randomCall(id: number, random: () => number): RandomCall {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const method = pick([...methods, 'POST', 'POST'] as const)
  const hasBody = !['GET', 'HEAD', 'OPTIONS'].includes(method)
  const reaction = (): Reaction => ({
    ...pick(answers),
    cut: random() < 0.3 ? pick(cuts) : random() < 0.01 ? 'never answers' : undefined,
    pieces: Math.floor(random() * 4),
  })
  return {
    ...{ id, method, hasKey: random() < 0.2, body: hasBody ? pick(bodies.slice(0, random() < 0.2 ? 5 : 4)) : 'none' },
    reactions: Array.from({ length: 8 }, reaction),
  }
}

/** The body of a response: every execution has its own. */
export function bodyOf({ id }: RandomCall, execution: number, { pieces }: Reaction): readonly string[] {
  return Array.from({ length: pieces }, (_, i) => `call ${id}, execution ${execution}, piece ${i};`)
}

/** Whether a call that the vendor reacted to may be sent again (docs/egress.md). */
export function mayRepeat({ method, hasKey }: RandomCall, { status, retryAfter, cut }: Reaction): boolean {
  const isRefusal = status === 429 || (status === 503 && retryAfter !== undefined)
  const hasHead = cut === undefined || cut === 'after the head' || cut === 'in the body'
  if (isRefusal && hasHead) return true
  const isRepeatable = hasKey || (method !== 'POST' && method !== 'PATCH')
  return isRepeatable && (cut !== undefined || [408, 502, 503, 504].includes(status))
}
