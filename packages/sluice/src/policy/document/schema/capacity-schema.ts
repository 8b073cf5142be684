import * as z from 'zod'
import type { CapacitySpec } from '../capacity-spec.ts'
import { strictObject } from './strict-object.ts'

const row = strictObject(
  {
    below: z.number().min(1).max(100).describe('The row holds while the load, in percent, is below this.'),
    maxBatchSize: z.int().min(1).max(100_000).describe('Events per batch.'),
    maxInFlight: z
      .int()
      .min(1)
      .max(64)
      .optional()
      .describe('Batches that a shipper may have in flight; 1 when left out.'),
    delay: z.string().describe('The pause between batches, for all senders together: 100ms, 1s.'),
  },
  'How much senders may send at one level of load.',
)

/** The shape of the capacity table. */
export const capacitySchema: z.ZodType<CapacitySpec> = strictObject(
  {
    table: z
      .array(row)
      .min(1)
      .max(20)
      .optional()
      .describe('Rows by rising load. Above the last one the server is not ready.'),
    retryAfter: z.string().optional().describe('When to ask again after not ready; 30s unless said otherwise.'),
  },
  'What this service tells shippers that ask how much to send.',
)
