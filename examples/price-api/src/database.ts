import type { Pool } from 'pg'

export interface Price {
  readonly assetId: string
  readonly usd: number
  readonly source: string
  readonly at: Date
}

export interface Candle {
  readonly assetId: string
  readonly interval: string
  readonly start: Date
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
  readonly closed: boolean
}

export interface Asset {
  readonly assetId: string
  readonly name: string
  readonly decimals: number
}

export const intervals: Readonly<Record<string, number>> = { '1m': 60, '5m': 300, '1h': 3600, '1d': 86_400 }

const schema = `
  CREATE TABLE IF NOT EXISTS assets (asset_id text PRIMARY KEY, name text NOT NULL, decimals int NOT NULL);
  CREATE TABLE IF NOT EXISTS markets (asset_id text NOT NULL, market text NOT NULL, PRIMARY KEY (asset_id, market));
  CREATE TABLE IF NOT EXISTS trades (
    asset_id text NOT NULL, at timestamptz NOT NULL, usd double precision NOT NULL, amount double precision NOT NULL,
    source text NOT NULL);
  CREATE INDEX IF NOT EXISTS trades_by_asset ON trades (asset_id, at DESC);`

/** The source of truth. */
export class Database {
  readonly #pool: Pool
  /** How many queries were sent, for the tests. */
  queries = 0

  constructor(pool: Pool) {
    this.#pool = pool
  }

  async prepare(): Promise<void> {
    await this.#pool.query(schema)
  }

  async saveAsset({ assetId, name, decimals }: Asset): Promise<void> {
    await this.#rows(
      `INSERT INTO assets VALUES ($1, $2, $3) ON CONFLICT (asset_id) DO UPDATE SET name = $2, decimals = $3`,
      [assetId, name, decimals],
    )
  }

  async saveTrade(price: Price, amount = 1): Promise<void> {
    await this.#rows(`INSERT INTO trades VALUES ($1, $2, $3, $4, $5)`, [
      price.assetId,
      price.at,
      price.usd,
      amount,
      price.source,
    ])
  }

  async price(assetId: string): Promise<Price | null> {
    const [row] = await this.#rows(`SELECT usd, source, at FROM trades WHERE asset_id = $1 ORDER BY at DESC LIMIT 1`, [
      assetId,
    ])
    return row ? { assetId, usd: Number(row.usd), source: String(row.source), at: row.at as Date } : null
  }

  async vwap(assetId: string, seconds: number): Promise<{ readonly usd: number | null; readonly trades: number }> {
    const [row] = await this.#rows(
      `SELECT sum(usd * amount) / nullif(sum(amount), 0) AS usd, count(*) AS trades FROM trades
       WHERE asset_id = $1 AND at > now() - make_interval(secs => $2)`,
      [assetId, seconds],
    )
    return { usd: row?.usd == null ? null : Number(row.usd), trades: Number(row?.trades ?? 0) }
  }

  async candle(assetId: string, interval: string, start: Date): Promise<Candle | null> {
    const end = new Date(start.getTime() + intervals[interval]! * 1000)
    const [row] = await this.#rows(
      `SELECT (array_agg(usd ORDER BY at))[1] AS open, max(usd) AS high, min(usd) AS low,
              (array_agg(usd ORDER BY at DESC))[1] AS close, now() >= $3 AS closed
       FROM trades WHERE asset_id = $1 AND at >= $2 AND at < $3 HAVING count(*) > 0`,
      [assetId, start, end],
    )
    if (!row) return null
    const [open, high, low, close] = [row.open, row.high, row.low, row.close].map(Number)
    return { assetId, interval, start, open: open!, high: high!, low: low!, close: close!, closed: row.closed === true }
  }

  async asset(assetId: string): Promise<Asset | null> {
    const [row] = await this.#rows(`SELECT name, decimals FROM assets WHERE asset_id = $1`, [assetId])
    return row ? { assetId, name: String(row.name), decimals: Number(row.decimals) } : null
  }

  async markets(assetId: string): Promise<string[]> {
    const rows = await this.#rows(`SELECT market FROM markets WHERE asset_id = $1 ORDER BY market`, [assetId])
    return rows.map(({ market }) => String(market))
  }

  async #rows(text: string, values: readonly unknown[]): Promise<Record<string, unknown>[]> {
    this.queries += 1
    const { rows } = await this.#pool.query(text, [...values])
    return rows
  }
}
