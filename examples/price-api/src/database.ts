import { openPool, prepareTables } from 'example-service/postgres'
import type { Pool } from 'pg'
import { type Candle, settleMs } from './keys.ts'

export interface Trade {
  readonly base: string
  readonly quote: string
  readonly price: number
  readonly amount: number
  readonly source: string
  readonly at: Date
}
export interface Pair {
  readonly base: string
  readonly quote: string
}
export interface Price {
  readonly assetId: string
  readonly usd: number
  readonly source: string
  readonly at: Date
}
export interface Vwap extends Pair {
  /** In seconds. */
  readonly window: number
  readonly vwap: number
  readonly volume: number
  readonly trades: number
}
export interface Asset {
  readonly assetId: string
  readonly code: string
  readonly issuer: string
  readonly decimals: number
  readonly homeDomain: string | null
}
export interface Divergence {
  readonly assetId: string
  /** How far the prices of the sources are apart, as a share of their mean. */
  readonly divergence: number
  readonly sources: number
}

const tables = `
  create table if not exists assets (asset_id text primary key, code text not null, issuer text not null,
    decimals int not null, home_domain text);
  create table if not exists pairs (base text, quote text, last_trade timestamptz not null, primary key (base, quote));
  create table if not exists trades (base text not null, quote text not null, price float8 not null,
    amount float8 not null, source text not null, at timestamptz not null);
  create index if not exists trades_by_pair on trades (base, quote, at desc);`

/** Rows for pairs are asked for with two lists of the same length. */
const listed = (pairs: readonly Pair[]): [string[], string[]] => [
  pairs.map(({ base }) => base),
  pairs.map(({ quote }) => quote),
]

/** The source of truth. All questions are for many at once, as the aggregator asks them; the API asks for one. */
export class Database {
  readonly #pool: Pool
  /** How many queries were sent, for the tests. */
  queries = 0

  constructor(url: string) {
    this.#pool = openPool(url, { timeoutSeconds: 2 })
  }

  prepare(): Promise<void> {
    return prepareTables(this.#pool, tables)
  }

  close(): Promise<void> {
    return this.#pool.end()
  }

  async saveTrades(trades: readonly Trade[]): Promise<void> {
    const rows = JSON.stringify(trades)
    await this.#rows(
      `with given as (select * from jsonb_to_recordset($1) as t(base text, quote text, price float8, amount float8, source text, at timestamptz)),
       saved as (insert into trades select * from given)
       insert into pairs select base, quote, max(at) from given group by base, quote
       on conflict (base, quote) do update set last_trade = greatest(pairs.last_trade, excluded.last_trade)`,
      [rows],
    )
  }

  async saveAsset({ assetId, code, issuer, decimals, homeDomain }: Asset): Promise<void> {
    await this.#rows(
      `insert into assets values ($1, $2, $3, $4, $5) on conflict (asset_id)
       do update set code = $2, issuer = $3, decimals = $4, home_domain = $5`,
      [assetId, code, issuer, decimals, homeDomain],
    )
  }

  /** Pairs with a trade since then. */
  pairs(since: Date): Promise<Pair[]> {
    return this.#rows('select base, quote from pairs where last_trade >= $1', [since])
  }

  prices(assetIds: readonly string[]): Promise<Price[]> {
    return this.#rows(
      `select "assetId", price as usd, source, at from unnest($1::text[]) asked("assetId"), lateral
         (select * from trades where base = "assetId" and quote = 'USD' order by at desc limit 1) last`,
      [assetIds],
    )
  }

  vwaps(pairs: readonly Pair[], windows: readonly number[]): Promise<Vwap[]> {
    return this.#rows(
      `select base, quote, "window", sum(price * amount) / nullif(sum(amount), 0) as vwap, sum(amount) as volume,
         count(*)::int as trades
       from unnest($1::text[], $2::text[]) asked(base, quote) join trades using (base, quote),
         unnest($3::int[]) windows("window")
       where at > now() - make_interval(secs => "window") group by base, quote, "window"`,
      [...listed(pairs), windows],
    )
  }

  /** Those that begin at these times. */
  candles(pairs: readonly Pair[], granularity: number, starts: readonly Date[]): Promise<Candle[]> {
    return this.#rows(
      `select base, quote, $4::int as granularity, start, (array_agg(price order by at))[1] as open,
         max(price) as high, min(price) as low, (array_agg(price order by at desc))[1] as close,
         now() >= start + $5 + $6 as closed
       from unnest($1::text[], $2::text[]) asked(base, quote), unnest($3::timestamptz[]) starts(start), lateral
         (select price, at from trades where trades.base = asked.base and trades.quote = asked.quote
            and at >= start and at < start + $5) traded
       group by base, quote, start`,
      [...listed(pairs), starts, granularity, `${granularity} s`, `${settleMs} ms`],
    )
  }

  /** By the last price of each source within five minutes. */
  divergences(assetIds: readonly string[]): Promise<Divergence[]> {
    return this.#rows(
      `with last as (select distinct on (base, source) base, source, price from trades
         where base = any($1) and quote = 'USD' and at > now() - interval '5 minutes' order by base, source, at desc)
       select base as "assetId", (max(price) - min(price)) / avg(price) as divergence, count(*)::int as sources
       from last group by base`,
      [assetIds],
    )
  }

  async asset(assetId: string): Promise<Asset | null> {
    const columns = 'asset_id as "assetId", code, issuer, decimals, home_domain as "homeDomain"'
    const [row] = await this.#rows<Asset>(`select ${columns} from assets where asset_id = $1`, [assetId])
    return row ?? null
  }

  async #rows<Row>(text: string, values: readonly unknown[]): Promise<Row[]> {
    this.queries += 1
    return (await this.#pool.query(text, [...values])).rows
  }
}
