// A step of pipelines/customers.yaml: a row of the file as a row of `customer_data`.
import { z } from 'zod'
import { name, text } from '../data/entities.ts'
import { parsing } from './parsing.ts'

const row = z.strictObject({
  tenant: name,
  customer_id: name,
  loan_amount: z.coerce.number(),
  credit_score: z.coerce.number().int(),
  segment: text,
})

export default parsing((record) => {
  const { tenant, customer_id, ...data } = row.parse(record)
  return { tenant, customer: customer_id, schema_id: 'customer_profile', data }
})
