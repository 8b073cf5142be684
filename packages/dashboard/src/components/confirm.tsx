import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

/**
 * Asks before something is done. The browser keeps the focus inside, closes it with Escape and gives the focus back
 * afterwards.
 */
export function Confirm(props: {
  readonly title: string
  readonly action: string
  readonly isBusy?: boolean
  readonly onConfirm: () => void
  readonly onCancel: () => void
  readonly children: ComponentChildren
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog
      class="confirm"
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        props.onCancel()
      }}
    >
      <h2 id={id}>{props.title}</h2>
      {props.children}
      <div class="confirm-actions">
        <button class="button" type="button" onClick={props.onCancel}>
          Cancel
        </button>
        <button class="button button-primary" type="button" disabled={props.isBusy} onClick={props.onConfirm}>
          {props.action}
        </button>
      </div>
    </dialog>
  )
}
