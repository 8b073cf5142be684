import { wrongOption } from '../connections/option-error.ts'

/** By the name of a lookup: the table with the columns `key` and `tier`, and the database that has it. */
export type LookupTables = ReadonlyMap<string, { readonly url: string; readonly table: string }>

/** Reads `plans=postgres:customer_plans,...`; the tables are in the database of `DATABASE_URL`. */
export function lookupTablesOf(
  { value, from = '--lookup' }: { readonly value: string | undefined; readonly from: string | undefined },
  url: string | undefined,
): LookupTables {
  const tables = new Map<string, { url: string; table: string }>()
  for (const each of value?.split(',') ?? []) {
    const [, name, table] = /^([\w.:-]+)=postgres:((?:[a-z_]\w*\.)?[a-z_]\w*)$/i.exec(each.trim()) ?? []
    if (name === undefined || table === undefined)
      throw wrongOption(from, value, 'use NAME=postgres:TABLE, such as plans=postgres:customer_plans')
    if (url === undefined) throw wrongOption(from, value, 'name the database of the table with DATABASE_URL')
    tables.set(name, { url, table })
  }
  return tables
}
