import { useEffect, useRef } from 'preact/hooks'
import { api } from '../../../api/api.ts'
import { createEditor, type Editor, type Issue } from './create-editor.ts'
import type { JsonSchema } from './schema.ts'

/** The editor as a component. It keeps its own text; `apply` replaces it. */
export function PolicyEditor(props: {
  readonly initial: string
  readonly readOnly: boolean
  readonly issues: readonly Issue[]
  readonly original: string | undefined
  readonly onChange: (text: string) => void
  readonly onReady: (editor: Editor) => void
}) {
  const host = useRef<HTMLDivElement>(null)
  const editor = useRef<Editor>(null)
  const changed = useRef(props.onChange)
  changed.current = props.onChange
  useEffect(() => {
    const made = createEditor(host.current!, {
      text: props.initial,
      readOnly: props.readOnly,
      onChange: (text) => changed.current(text),
    })
    editor.current = made
    props.onReady(made)
    // Editing works without the schema; only completion is missing.
    api<JsonSchema>('GET', '/v1/policy/schema').then(made.setSchema, () => {})
    return () => made.destroy()
  }, [])
  useEffect(() => editor.current?.showIssues(props.issues), [props.issues])
  useEffect(() => editor.current?.compareWith(props.original), [props.original])
  return <div class="editor" ref={host} />
}
