/** What a query answers. */
export interface PostgresResult {
  readonly rows: readonly unknown[]
}

/** As much of a client of `pg` as listening and transactions need. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<PostgresResult>
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown
  release(destroy?: boolean): void
}

/** As much of a `Pool` of `pg` as a policy or a store needs. */
export interface PostgresPool {
  readonly options?: { readonly max?: number | undefined }
  query(text: string, values?: unknown[]): Promise<PostgresResult>
  connect(): Promise<PostgresClient>
}

/**
 * Listens over one connection of the pool. `heard` is called for every announcement with its payload, and without one
 * when listening has begun; `over` when the connection is lost or cannot be had. Returns how to end it.
 */
export function listen(
  pool: PostgresPool,
  channelName: string,
  heard: (payload: string | undefined) => void,
  over: () => void,
): () => void {
  let client: PostgresClient | undefined
  let ended = false
  const end = (): void => {
    ended = true
    // Destroyed, not given back: it would go on listening in other hands.
    client?.release(true)
    client = undefined
  }
  const lose = (): void => {
    if (ended) return
    end()
    over()
  }
  const begin = async (): Promise<void> => {
    const own = await pool.connect()
    if (ended) return own.release()
    client = own
    own.on('error', lose)
    own.on('end', lose)
    own.on('notification', ({ payload }) => void (ended || heard(payload ?? '')))
    await own.query(`LISTEN ${channelName}`)
    if (!ended) heard(undefined)
  }
  begin().catch(lose)
  return end
}
