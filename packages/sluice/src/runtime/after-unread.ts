/** A timer that fires this much too late was held up: the event loop was blocked. */
const blockedMs = 10

/**
 * Runs what a timer was set for. When the event loop was blocked, replies may lie unread in sockets although they came
 * in time; timers fire before sockets are read, so then the task runs after they were.
 */
export function afterUnread(lateMs: number, task: () => void): void {
  if (lateMs < blockedMs) task()
  else setImmediate(task)
}
