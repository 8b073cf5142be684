/**
 * Runs what a timer was set for. Timers fire before sockets are read, and the turn of the event loop before may have
 * been a long one: replies that came in time may still be unread, so they are read first.
 */
export function afterUnread(task: () => void): void {
  setImmediate(task)
}
