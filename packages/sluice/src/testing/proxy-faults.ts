export interface TcpProxyOptions {
  readonly targetPort: number
  readonly targetHost?: string
}

/** Which way bytes go: `requests` from client to server, `replies` back. */
export type Direction = 'requests' | 'replies'

/** The faults in force; every connection of the proxy reads them as it goes. */
export interface ProxyFaults {
  drop: (chunk: Buffer) => boolean
  dropThenClose: boolean
  stalled: boolean
  delayMs: Record<Direction, number>
}

export interface ProxyStats {
  /** Connections accepted so far, and those open now. */
  connections: number
  open: number
  requestBytes: number
  replyBytes: number
  /** Chunks of replies that were dropped. */
  droppedReplies: number
}
