import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  completionKeymap,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { bracketMatching, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { unifiedMergeView } from '@codemirror/merge'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { Compartment, EditorState } from '@codemirror/state'
import { EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import type { TextRange } from '../../../api/shapes.ts'
import { type JsonSchema, suggestions } from './schema.ts'
import { highlighting, theme } from './theme.ts'
import { yamlPlace } from './yaml-path.ts'

/** A mistake as the daemon reports it. */
export interface Issue {
  readonly path: string
  readonly message: string
  readonly range?: TextRange
}

export interface Editor {
  readonly text: string
  /** Replaces the whole text. It can be undone. */
  replace(text: string): void
  showIssues(issues: readonly Issue[]): void
  /** Shows what differs from another text, in place; undefined for the text alone. */
  compareWith(original: string | undefined): void
  goTo(line: number): void
  setSchema(schema: JsonSchema): void
  destroy(): void
}

export interface EditorOptions {
  readonly text: string
  readonly readOnly: boolean
  readonly onChange: (text: string) => void
}

/**
 * An editor of policies. It is in a shadow root, where its styles need no permission from the page's content security
 * policy.
 */
export function createEditor(host: HTMLElement, options: EditorOptions): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  const merge = new Compartment()
  let schema: JsonSchema | undefined
  const complete = (context: CompletionContext): CompletionResult | null =>
    schema ? completions(context, schema) : null
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        indentOnInput(),
        bracketMatching(),
        highlightActiveLine(),
        // The search of the browser does not find lines that are not drawn.
        search({ top: true }),
        highlightSelectionMatches(),
        EditorView.lineWrapping,
        yaml(),
        syntaxHighlighting(highlighting),
        autocompletion({ override: [complete], icons: false }),
        // Tab leaves the editor, as everywhere else on the page; Ctrl+] indents.
        keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...completionKeymap, ...lintKeymap]),
        EditorState.readOnly.of(options.readOnly),
        EditorView.contentAttributes.of({ 'aria-label': 'Policy', spellcheck: 'false', tabindex: '0' }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) options.onChange(state.doc.toString())
        }),
        merge.of([]),
        theme,
      ],
    }),
  })
  return {
    get text() {
      return view.state.doc.toString()
    },
    replace(text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } })
    },
    showIssues(issues) {
      view.dispatch(
        setDiagnostics(
          view.state,
          issues.map((issue) => diagnosticOf(view.state, issue)),
        ),
      )
    },
    compareWith(original) {
      const shown =
        original === undefined ? [] : unifiedMergeView({ original, mergeControls: chunkButton, gutter: true })
      view.dispatch({ effects: merge.reconfigure(shown) })
    },
    goTo(line) {
      const { from } = view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines))
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) })
      view.focus()
    },
    setSchema(next) {
      schema = next
    },
    destroy: () => view.destroy(),
  }
}

/** Each difference can be kept, or put back to what it is compared with. */
function chunkButton(type: 'accept' | 'reject', act: (event: MouseEvent) => void): HTMLElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = type === 'accept' ? 'Keep' : 'Undo'
  button.addEventListener('mousedown', act)
  return button
}

function diagnosticOf({ doc }: EditorState, { path, message, range }: Issue): Diagnostic {
  const offset = (line: number, column: number): number => {
    if (line > doc.lines) return doc.length
    const { from, to } = doc.line(Math.max(1, line))
    return Math.min(from + column - 1, to)
  }
  const from = range === undefined ? 0 : offset(range.line, range.column)
  const to =
    range === undefined ? Math.min(doc.length, doc.line(1).to) : Math.max(from, offset(range.endLine, range.endColumn))
  return {
    from,
    to,
    severity: 'error',
    message: path === '' || path.startsWith('line ') ? message : `${path}: ${message}`,
  }
}

const selectors = ['ip', 'headers.', 'query.', 'params.', 'body.', 'context.', 'method', 'route', 'path', 'const:']

function completions(context: CompletionContext, schema: JsonSchema): CompletionResult | null {
  const place = yamlPlace(context.state.doc.toString(), context.pos)
  if (place === undefined || (!context.explicit && place.from === context.pos)) return null
  const last = place.path.filter((step) => typeof step === 'string').at(-1)
  const found = suggestions(schema, place.path, place.writes)
  const own = place.writes === 'value' || found.length === 0 ? selectorsFor(last) : []
  const options = [
    ...own.map((label) => ({ label })),
    ...found.map(({ label, about, holds }) => ({
      label,
      info: about,
      apply: place.writes === 'name' ? `${label}:${holds === 'block' ? '' : ' '}` : label,
    })),
  ]
  return options.length === 0 ? null : { from: place.from, options, validFor: /^[\w$.-]*$/ }
}

function selectorsFor(field: string | undefined): readonly string[] {
  return field === 'key' || field === 'by' || field === 'first' ? selectors : []
}
