// A step of pipelines/interactions.yaml: an entry of the stream as a row of `interactions`.
import { z } from 'zod'
import { name } from '../data/entities.ts'
import { parsing } from './parsing.ts'

const interaction = z.object({
  id: name,
  tenant: name,
  customer: name,
  offer: name,
  mandatory: z.boolean(),
  at: z.iso.datetime(),
})

export default parsing((record) => interaction.parse(record))
