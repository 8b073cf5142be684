import { useState } from 'preact/hooks'

/** Copies a text, and confirms it for a moment. `what` is for screen readers: "Copy the key". */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  const copy = async (): Promise<void> => {
    // Only pages over TLS or on this machine can use the clipboard.
    const done = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    )
    setState(done ? 'copied' : 'failed')
    setTimeout(() => setState('idle'), 1500)
  }
  return (
    <button type="button" class="copy" onClick={copy} aria-label={`Copy ${what}`}>
      <span role="status">{state === 'idle' ? 'copy' : state === 'copied' ? 'copied' : 'select and copy by hand'}</span>
    </button>
  )
}
