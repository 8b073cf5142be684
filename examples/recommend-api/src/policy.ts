import { readFile } from 'node:fs/promises'
import type { PolicyDocument } from 'sluice'
import { parseDocument } from 'sluice/policy'
import type { Settings } from './settings.ts'

/** The policy of `sluice.yaml`, with the daily cap of the environment. */
export async function readPolicy({ maxMandatoryPerDay }: Settings): Promise<PolicyDocument> {
  const text = await readFile(new URL('../sluice.yaml', import.meta.url), 'utf8')
  const document = parseDocument(text) as PolicyDocument
  const rules = document.rules!.map((rule) =>
    rule.name === 'mandatory' ? { ...rule, limits: { ...(rule.limits as object), amount: maxMandatoryPerDay } } : rule,
  )
  return { ...document, rules }
}
