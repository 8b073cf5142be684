import { parseDocument as parseYaml } from 'yaml'
import { PolicyError } from './policy-error.ts'

/** Reads a policy document from YAML or JSON text. */
export function parseDocument(text: string): unknown {
  const document = parseYaml(text, { stringKeys: true })
  if (document.errors.length > 0) {
    throw new PolicyError(document.errors.map((error) => ({ path: '', value: text, message: error.message })))
  }
  return document.toJS({ maxAliasCount: 100 })
}
