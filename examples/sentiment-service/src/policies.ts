import { readFile } from 'node:fs/promises'
import { type Collection, MongoClient } from 'mongodb'
import { parseDocument } from 'sluice/policy'

/** A policy as it is stored: the service is its `_id`. */
export interface StoredPolicy {
  readonly _id: string
  readonly last_updated: Date
  readonly version?: string
  readonly rules: readonly { readonly name: string }[]
}
export type Policies = Collection<StoredPolicy>

/** The collection that holds the policies of all services. */
export function openPolicies(url: string, database: string): { policies: Policies; close(): Promise<void> } {
  // An unreachable server is noticed soon; the next attempt waits for it again.
  const mongo = new MongoClient(url, { serverSelectionTimeoutMS: 1000, heartbeatFrequencyMS: 500 })
  return { policies: mongo.db(database).collection('rate_limits'), close: () => mongo.close() }
}

/** Puts `sluice.yaml` into MongoDB unless there is a policy already. Of several replicas that start, one succeeds. */
export async function seedPolicy(policies: Policies): Promise<void> {
  const text = await readFile(new URL('../sluice.yaml', import.meta.url), 'utf8')
  const { service, ...policy } = parseDocument(text) as { service: string; rules: StoredPolicy['rules'] }
  await policies.updateOne(
    { _id: service },
    { $setOnInsert: { ...policy, last_updated: new Date() } },
    { upsert: true },
  )
}
