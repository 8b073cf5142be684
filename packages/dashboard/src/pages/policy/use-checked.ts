import { useEffect, useState } from 'preact/hooks'
import { ApiError, api } from '../../api/api.ts'
import type { PolicyOutcome } from '../../api/shapes.ts'
import type { Issue } from './editor/create-editor.ts'

/** The daemon's check of a text: valid, with what it changes, or every mistake. */
export type Checked = Found & {
  /** Whether the text has changed since. */
  readonly isOld: boolean
}

type Found =
  | { readonly state: 'checking' }
  | { readonly state: 'good'; readonly outcome: PolicyOutcome }
  | { readonly state: 'mistakes'; readonly issues: readonly Issue[] }
  | { readonly state: 'failed'; readonly error: Error }

const pauseMs = 350

/** Checks a text whenever the typing pauses; also again when another policy comes into force. */
export function useChecked(text: string | undefined, inForce: string | undefined): Checked {
  const [checked, setChecked] = useState<{ text: string | undefined; found: Found }>({
    text: undefined,
    found: { state: 'checking' },
  })
  useEffect(() => {
    if (text === undefined) return
    const stop = new AbortController()
    const timer = setTimeout(() => {
      check(text, stop.signal).then(
        (found) => !stop.signal.aborted && setChecked({ text, found }),
        (error: Error) => !stop.signal.aborted && setChecked({ text, found: { state: 'failed', error } }),
      )
    }, pauseMs)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [text, inForce])
  return { ...checked.found, isOld: checked.text !== text }
}

async function check(text: string, signal: AbortSignal): Promise<Found> {
  if (text.trim() === '')
    return { state: 'mistakes', issues: [{ path: '', message: 'it is empty; give service and rules' }] }
  try {
    return { state: 'good', outcome: await api<PolicyOutcome>('POST', '/v1/policy/validate', { body: text, signal }) }
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 422) throw error
    return {
      state: 'mistakes',
      issues: (error.extra.issues as Issue[] | undefined) ?? [{ path: '', message: error.message }],
    }
  }
}
