import type { ComponentChildren } from 'preact'
import type { ApiError } from '../api/api.ts'

/** Shown while something is loading. A style sheet delays it, so that fast answers do not flash. */
export function Loading({ what }: { readonly what?: string }) {
  return (
    <div class="state loading" role="status">
      Loading{what ? ` ${what.toLowerCase()}` : ''} …
    </div>
  )
}

/** An empty state that is not an error: explains why, and what would change it. */
export function EmptyState(props: {
  readonly title: string
  readonly text?: ComponentChildren
  readonly children?: ComponentChildren
}) {
  return (
    <div class="state">
      <strong>{props.title}</strong>
      {props.text}
      {props.children}
    </div>
  )
}

export function ErrorState({ error, retry }: { readonly error: Error | ApiError; readonly retry?: () => void }) {
  if ('status' in error && error.status === 403) return <NoPermission detail={error.message} />
  return (
    <div class="state" role="alert">
      <strong>That did not work</strong>
      <div>{error.message}</div>
      {retry && (
        <button class="button" type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

export function NoPermission({ detail }: { readonly detail: string }) {
  return (
    <div class="state" role="alert">
      <strong>You may not see this</strong>
      <div>{detail}</div>
    </div>
  )
}
