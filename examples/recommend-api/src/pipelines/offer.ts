// A step of pipelines/offers.yaml: a line of the file as a row of `entities`.
import { z } from 'zod'
import { parseEntity } from '../data/entities.ts'
import { name, parsing } from './parsing.ts'

const line = z.looseObject({ tenant: name, id: name })

export default parsing((record) => {
  const { tenant, id, ...rest } = line.parse(record)
  return { tenant, kind: 'offers', id, ...parseEntity('offers', rest) }
})
