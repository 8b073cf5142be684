/** What is placed before the handler. */
export type Role = 'sluice' | 'peer' | 'control'
export type Framework = 'fastify' | 'express' | 'hono'
export type Situation = 'allowed in memory' | 'allowed on Redis' | 'denied in memory'

/** One server to be measured. */
export interface ServerSpec {
  readonly framework: Framework
  readonly role: Role
  readonly situation: Situation
  readonly redisUrl: string
}

/** The body of a denial by Sluice in these cases; a static 429 sends the same number of bytes. */
export const staticBody: string = JSON.stringify({
  type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
  title: 'Request cannot be satisfied as assigned quota has been exceeded',
  status: 429,
  'violated-policies': ['rpd'],
})

/** An amount that is never used up. */
export const plenty = 1_000_000_000
