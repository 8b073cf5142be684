import { prepareTables } from 'example-service/postgres'
import type { Pool } from 'pg'
import type { Entity, Kind } from './entities.ts'

const tables = `
  create table if not exists entities (tenant text, kind text, id text, priority int not null, active bool not null,
    body jsonb not null, primary key (tenant, kind, id));
  create index if not exists active_entities on entities (tenant, kind, priority desc, id) where active;
  create table if not exists customer_data (tenant text, customer text, schema_id text, data jsonb not null,
    primary key (tenant, customer, schema_id));
  create table if not exists mandatory_deliveries (tenant text, customer text, day timestamptz, delivered int not null,
    primary key (tenant, customer, day));
  create table if not exists interactions (id text primary key, tenant text not null, customer text not null,
    offer text not null, mandatory bool not null, at timestamptz not null);
  -- What other channels delivered counts too, in the transaction that adds it. Rows are locked in one order by all.
  create or replace function count_interactions() returns trigger language plpgsql as $$ begin
    insert into mandatory_deliveries as d
      select tenant, customer, date_trunc('day', at, 'UTC') as day, count(*) from added
      where mandatory group by 1, 2, 3 order by 1, 2, 3
      on conflict (tenant, customer, day) do update set delivered = d.delivered + excluded.delivered;
    return null;
  end $$;
  create or replace trigger count_interactions after insert on interactions
    referencing new table as added for each statement execute function count_interactions();`

/** Where a read may go: to a replica, unless the data has just been changed. */
export interface ReadOptions {
  readonly fromPrimary?: boolean
}

/** The source of truth: a primary, and for reads a replica if there is one. */
export class Database {
  readonly #primary: Pool
  readonly #replica: Pool

  constructor(primary: Pool, replica: Pool = primary) {
    this.#primary = primary
    this.#replica = replica
  }

  prepare(): Promise<void> {
    return prepareTables(this.#primary, tables)
  }

  /** The active ones, with the highest priority first; all of them if `limit` is null. */
  async active<K extends Kind>(
    tenant: string,
    kind: K,
    limit: number | null,
    options?: ReadOptions,
  ): Promise<Entity<K>[]> {
    const { rows } = await this.#reader(options).query(
      `select body || jsonb_build_object('id', id, 'priority', priority) as entity from entities
       where tenant = $1 and kind = $2 and active order by priority desc, id limit $3`,
      [tenant, kind, limit],
    )
    return rows.map(({ entity }) => entity)
  }

  async save(
    tenant: string,
    kind: Kind,
    id: string,
    { priority, active, body }: { readonly priority: number; readonly active: boolean; readonly body: object },
  ): Promise<void> {
    await this.#primary.query(
      `insert into entities values ($1, $2, $3, $4, $5, $6)
       on conflict (tenant, kind, id) do update set priority = $4, active = $5, body = $6`,
      [tenant, kind, id, priority, active, body],
    )
  }

  /** The named fields that a schema has about a customer. */
  async customerFields(
    tenant: string,
    customer: string,
    schemaId: string,
    fields: readonly string[],
  ): Promise<Record<string, unknown>> {
    const { rows } = await this.#replica.query(
      `select key, value from customer_data, jsonb_each(data)
       where tenant = $1 and customer = $2 and schema_id = $3 and key = any($4)`,
      [tenant, customer, schemaId, fields],
    )
    return Object.fromEntries(rows.map(({ key, value }) => [key, value]))
  }

  async saveCustomerData(tenant: string, customer: string, schemaId: string, data: object): Promise<void> {
    await this.#primary.query(
      `insert into customer_data values ($1, $2, $3, $4)
       on conflict (tenant, customer, schema_id) do update set data = $4`,
      [tenant, customer, schemaId, data],
    )
  }

  /**
   * Records a mandatory offer if the customer's limit for the day allows it, in one statement: the row is locked before
   * its count is compared, so that concurrent requests see each other.
   */
  async deliverMandatory(tenant: string, customer: string, day: Date, cap: number): Promise<boolean> {
    const { rowCount } = await this.#primary.query(
      `insert into mandatory_deliveries as d select $1, $2, $3, 1 where $4 > 0
       on conflict (tenant, customer, day) do update set delivered = d.delivered + 1 where d.delivered < $4`,
      [tenant, customer, day, cap],
    )
    return rowCount === 1
  }

  async mandatoryDelivered(tenant: string, customer: string, day: Date): Promise<number> {
    const { rows } = await this.#primary.query<{ delivered: number }>(
      'select delivered from mandatory_deliveries where tenant = $1 and customer = $2 and day = $3',
      [tenant, customer, day],
    )
    return rows[0]?.delivered ?? 0
  }

  #reader({ fromPrimary = false }: ReadOptions = {}): Pool {
    return fromPrimary ? this.#primary : this.#replica
  }
}
