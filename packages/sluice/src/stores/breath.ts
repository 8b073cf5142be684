const settled: Promise<void> = Promise.resolve()

/** Runs a task when everybody who is about to run has. `queueMicrotask` also makes an async resource, which takes longer. */
export function afterBreath(task: () => void): void {
  void settled.then(task)
}
