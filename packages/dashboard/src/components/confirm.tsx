import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'

/**
 * Asks for confirmation before an action, and stays until that is done. The browser keeps the focus inside and closes
 * it with Escape; the focus returns to the element that opened it.
 */
export function Confirm(props: {
  readonly title: string
  readonly action: string
  /** Says itself how it ended. */
  readonly onConfirm: () => Promise<void> | void
  /** Called in the end, and when it is cancelled. */
  readonly onClose: () => void
  readonly children: ComponentChildren
}) {
  const [isBusy, setBusy] = useState(false)
  const confirm = async (): Promise<void> => {
    setBusy(true)
    await props.onConfirm()
    props.onClose()
  }
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
        props.onClose()
      }}
    >
      <h2 id={id}>{props.title}</h2>
      {props.children}
      <div class="confirm-actions">
        <button class="button" type="button" onClick={props.onClose}>
          Cancel
        </button>
        <button class="button button-primary" type="button" disabled={isBusy} onClick={() => void confirm()}>
          {props.action}
        </button>
      </div>
    </dialog>
  )
}
