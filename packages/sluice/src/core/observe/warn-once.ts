type Warn = (message: string, options: { readonly type: string; readonly code: string }) => void

/** Makes a warning that is given at most once, through the process where there is one. */
export function warnOnce(code: string): (message: string) => void {
  let isGiven = false
  return (message) => {
    if (isGiven) return
    isGiven = true
    // Read from the global object, as fetch-style handlers also run where there is no `process`.
    const host = (globalThis as { process?: { emitWarning?: Warn } }).process
    if (host?.emitWarning) host.emitWarning(message, { type: 'SluiceWarning', code })
    else console.warn(`${code}: ${message}`)
  }
}
