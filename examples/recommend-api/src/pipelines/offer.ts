// A step of pipelines/offers.yaml: a line of the file as a row of `entities`.
import { z } from 'zod'
import { name, parseEntity } from '../data/entities.ts'
import { parsing } from './parsing.ts'

const line = z.looseObject({ tenant: name, id: name })

export default parsing((record) => {
  const { tenant, id, ...rest } = line.parse(record)
  return { tenant, kind: 'offers', id, ...parseEntity('offers', rest) }
})
