/** A text that was changed and not published, and what it was made from. */
export interface Draft {
  readonly text: string
  /** The ETag of the policy it was made from. */
  readonly etag: string
}

const place = 'sluice-policy-draft'

/** Kept while the tab is open, so that an accidental reload loses nothing. */
export function keepDraft(draft: Draft | undefined): void {
  try {
    if (draft === undefined) sessionStorage.removeItem(place)
    else sessionStorage.setItem(place, JSON.stringify(draft))
  } catch {
    // A browser without storage, or a text that is too long: the page itself still has it.
  }
}

export function keptDraft(): Draft | undefined {
  try {
    const draft = JSON.parse(sessionStorage.getItem(place) ?? 'null') as Draft | null
    return typeof draft?.text === 'string' && typeof draft.etag === 'string' ? draft : undefined
  } catch {
    return undefined
  }
}
