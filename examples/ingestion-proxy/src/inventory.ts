import { openPool, prepareTables } from 'example-service/postgres'
import type { Pool } from 'pg'

const tables = 'create table if not exists diamonds (id text primary key, body jsonb not null)'

/** The diamonds that were ingested: workers write them, the customer API reads them. */
export class Inventory {
  readonly #pool: Pool

  constructor(url: string) {
    this.#pool = openPool(url)
  }

  prepare(): Promise<void> {
    return prepareTables(this.#pool, tables)
  }

  async save(diamonds: readonly { readonly id: string }[]): Promise<void> {
    await this.#pool.query(
      `insert into diamonds select item->>'id', item from jsonb_array_elements($1) item
       on conflict (id) do update set body = excluded.body`,
      [JSON.stringify(diamonds)],
    )
  }

  async list(limit: number): Promise<object[]> {
    const { rows } = await this.#pool.query('select body from diamonds order by id limit $1', [limit])
    return rows.map(({ body }) => body)
  }

  close(): Promise<void> {
    return this.#pool.end()
  }
}
