import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { longestTtlSeconds } from '../settings.ts'

/** A source of what is known about a customer. */
const source = z.strictObject({
  schemaId: z.string().min(1),
  /** What is fetched. */
  fields: z.array(z.string().min(1)).min(1),
  /** 0 is not cached. */
  cacheTtlSeconds: z.int().min(0).max(longestTtlSeconds).default(60),
  /** Names the fields in the result: `customer.credit_score`. */
  prefix: z.string().min(1),
})
const document = z.looseObject({ enrichment: z.looseObject({ sources: z.array(source) }) })
export type EnrichmentSource = z.infer<typeof source>

/** Reads the enrichment stage of a decision flow. */
export async function readEnrichment(file: string | URL): Promise<EnrichmentSource[]> {
  return parseEnrichment(JSON.parse(await readFile(file, 'utf8')))
}

export function parseEnrichment(value: unknown): EnrichmentSource[] {
  const result = document.safeParse(value)
  if (result.success) return result.data.enrichment.sources
  const [issue] = result.error.issues
  throw new Error(`enrichment: ${issue!.path.join('.')}: ${issue!.message}`)
}
