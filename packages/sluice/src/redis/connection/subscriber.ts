/** A connection of its own that receives published messages; each client package has its form of it. */
export interface SubscriberConnection {
  /** Settles when messages to this channel are being received. */
  subscribe(channel: string): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  /** Checks that the server answers; missing where there are connections to several nodes. */
  readonly ping?: (() => Promise<unknown>) | undefined
  /** Disconnects from the server and connects again. */
  reconnect(): void
  close(): void
}

/** What a subscriber connection reports. */
export interface SubscriberEvents {
  /** There is a new connection. Subscriptions have to be made again. */
  ready(): void
  lost(): void
  message(channel: string, text: string): void
}
