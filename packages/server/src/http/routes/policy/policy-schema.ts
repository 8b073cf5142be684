import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { readQuery } from '../../input/read-query.ts'
import type { Routes } from '../../router.ts'

/** `GET /v1/policy/schema`: the JSON Schema of policies, for editors. */
export const policySchemaRoute: Routes = ({ read }) => {
  let schema: string | undefined
  read.get('/v1/policy/schema', function answer(c) {
    readQuery(c)
    schema ??= readFileSync(createRequire(import.meta.url).resolve('sluice/policy.schema.json'), 'utf8')
    return c.body(schema, 200, { 'content-type': 'application/schema+json', 'cache-control': 'private, max-age=300' })
  })
}
