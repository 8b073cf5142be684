import type { Pool } from 'pg'

export interface Offer {
  readonly id: string
  readonly model: string
  readonly weight: number
  readonly mandatory: boolean
  /** Spread over the day by the rule `campaign`. */
  readonly paced: boolean
  readonly segment: string | null
}

export interface Rule {
  readonly offer: string
  readonly segment: string
  /** How well the offer fits customers of the segment, from 0 to 1. */
  readonly fit: number
}

const schema = `
  create table if not exists offers (tenant text, id text, model text, weight float8, mandatory bool, paced bool, segment text,
    primary key (tenant, id));
  create table if not exists rules (tenant text, offer text, segment text, fit float8, primary key (tenant, offer, segment));
  create table if not exists contact_policies (tenant text primary key, do_not_contact text[] not null);
  create table if not exists guardrails (tenant text primary key, blocked_offers text[] not null);
  create table if not exists customers (tenant text, customer text, segments text[], profile jsonb, primary key (tenant, customer));
  create table if not exists mandatory_deliveries (customer text, day timestamptz, delivered int not null, primary key (customer, day));`

/** The source of truth. */
export class Database {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  async prepare(): Promise<void> {
    await this.#pool.query(schema)
  }

  async offers(tenant: string): Promise<Offer[]> {
    return this.#rows('select id, model, weight, mandatory, paced, segment from offers where tenant = $1 order by id', [
      tenant,
    ])
  }

  async saveOffer(tenant: string, { id, model, weight, mandatory, paced, segment }: Offer): Promise<void> {
    await this.#rows(
      `insert into offers values ($1, $2, $3, $4, $5, $6, $7)
       on conflict (tenant, id) do update set model = $3, weight = $4, mandatory = $5, paced = $6, segment = $7`,
      [tenant, id, model, weight, mandatory, paced, segment],
    )
  }

  async rules(tenant: string): Promise<Rule[]> {
    return this.#rows('select offer, segment, fit from rules where tenant = $1', [tenant])
  }

  async doNotContact(tenant: string): Promise<string[]> {
    const [row] = await this.#rows<{ do_not_contact: string[] }>('select * from contact_policies where tenant = $1', [
      tenant,
    ])
    return row?.do_not_contact ?? []
  }

  async blockedOffers(tenant: string): Promise<string[]> {
    const [row] = await this.#rows<{ blocked_offers: string[] }>('select * from guardrails where tenant = $1', [tenant])
    return row?.blocked_offers ?? []
  }

  async blockOffer(tenant: string, offer: string): Promise<void> {
    await this.#rows(
      `insert into guardrails as g values ($1, array[$2]) on conflict (tenant) do update set blocked_offers = g.blocked_offers || $2`,
      [tenant, offer],
    )
  }

  async profile(tenant: string, customer: string): Promise<Readonly<Record<string, unknown>>> {
    return (await this.#customer(tenant, customer))?.profile ?? {}
  }

  async segments(tenant: string, customer: string): Promise<string[]> {
    return (await this.#customer(tenant, customer))?.segments ?? []
  }

  /**
   * Records a mandatory offer if the customer's limit for the day allows it, in one statement: the row is locked before
   * its count is compared, so that concurrent requests see each other.
   */
  async deliverMandatory(customer: string, day: Date, cap: number): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `insert into mandatory_deliveries as d select $1, $2, 1 where $3 > 0
       on conflict (customer, day) do update set delivered = d.delivered + 1 where d.delivered < $3`,
      [customer, day, cap],
    )
    return rowCount === 1
  }

  async mandatoryDelivered(customer: string, day: Date): Promise<number> {
    const sql = 'select delivered from mandatory_deliveries where customer = $1 and day = $2'
    const [row] = await this.#rows<{ delivered: number }>(sql, [customer, day])
    return row?.delivered ?? 0
  }

  async #customer(tenant: string, customer: string) {
    const sql = 'select segments, profile from customers where tenant = $1 and customer = $2'
    const [row] = await this.#rows<{ segments: string[]; profile: Record<string, unknown> }>(sql, [tenant, customer])
    return row
  }

  async #rows<Row>(sql: string, values: unknown[]): Promise<Row[]> {
    return (await this.#pool.query(sql, values)).rows as Row[]
  }
}
