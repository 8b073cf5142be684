import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

/**
 * Asks for confirmation before an action. The browser keeps the focus inside and closes it with Escape; the focus
 * returns to the element that opened it.
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
  useEffect(() => {
    const [opener, element] = [document.activeElement, dialog.current]
    element?.showModal()
    return () => {
      // While a modal dialog is open, nothing outside it can have the focus.
      element?.close()
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
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
