type Emit = (message: string, options: { readonly type: string; readonly code: string }) => void

/** Warns whoever runs the process. */
export function warn(code: string, message: string): void {
  // Read from the global object, as fetch-style handlers also run where there is no `process`.
  const host = (globalThis as { process?: { emitWarning?: Emit } }).process
  if (host?.emitWarning) host.emitWarning(message, { type: 'SluiceWarning', code })
  else console.warn(`${code}: ${message}`)
}

/** Makes a warning that is given at most once, through the process where there is one. */
export function warnOnce(code: string): (message: string) => void {
  let isGiven = false
  return (message) => {
    if (isGiven) return
    isGiven = true
    warn(code, message)
  }
}
