import { HighlightStyle } from '@codemirror/language'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'

/** Colours come from the page, so that light and dark follow it. */
export const highlighting: HighlightStyle = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--ink)', fontWeight: '600' },
  { tag: [tags.string, tags.content, tags.attributeValue], color: 'var(--allow)' },
  { tag: tags.comment, color: 'var(--soft)', fontStyle: 'italic' },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: 'var(--soft)' },
  { tag: tags.invalid, color: 'var(--deny)' },
])

export const theme = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'var(--card)', fontSize: '13px' },
  // The frame around it shows the focus.
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': {
    fontFamily: 'var(--mono)',
    lineHeight: '1.55',
    minHeight: '320px',
    maxHeight: '62vh',
    overflow: 'auto',
  },
  '.cm-content': { caretColor: 'var(--ink)', padding: '8px 0' },
  '.cm-gutters': { backgroundColor: 'var(--card)', color: 'var(--soft)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--chip) 60%, transparent)' },
  '.cm-selectionBackground, ::selection': { backgroundColor: 'color-mix(in srgb, var(--allow) 28%, transparent)' },
  '.cm-matchingBracket': { outline: '1px solid var(--soft)', backgroundColor: 'transparent' },
  '.cm-panels': { color: 'var(--ink)', backgroundColor: 'var(--chip)', borderColor: 'var(--line)' },
  '.cm-panels .cm-textfield, .cm-panels .cm-button': {
    color: 'var(--ink)',
    background: 'var(--card)',
    border: '1px solid var(--line)',
    borderRadius: '4px',
    fontSize: '12.5px',
  },
  '.cm-searchMatch': { backgroundColor: 'color-mix(in srgb, var(--degraded) 30%, transparent)' },
  '.cm-selectionMatch': { backgroundColor: 'color-mix(in srgb, var(--degraded) 18%, transparent)' },
  '.cm-tooltip': {
    color: 'var(--ink)',
    backgroundColor: 'var(--card)',
    border: '1px solid var(--line)',
    borderRadius: '6px',
    boxShadow: '0 6px 24px rgb(0 0 0 / 18%)',
    overflow: 'hidden',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '14em' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px 10px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    color: 'var(--ink)',
    backgroundColor: 'var(--chip)',
  },
  '.cm-completionInfo': { padding: '6px 10px', maxWidth: '300px' },
  '.cm-diagnostic': { padding: '6px 10px' },
  '.cm-diagnostic-error': { borderLeft: '4px solid var(--deny)' },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--deny)',
    textUnderlineOffset: '3px',
  },
  // The marks of the package are images from data: addresses, which the content security policy of the page refuses.
  '.cm-gutter-lint .cm-lint-marker-error': { content: 'normal', textAlign: 'center', lineHeight: '1.4' },
  '.cm-gutter-lint .cm-lint-marker-error::before': { content: '"✕"', color: 'var(--deny)', fontWeight: '700' },
  '.cm-changedLine, .cm-insertedLine': {
    backgroundColor: 'color-mix(in srgb, var(--good) 14%, transparent) !important',
  },
  '.cm-changedText': { background: 'color-mix(in srgb, var(--good) 26%, transparent) !important' },
  '.cm-deletedChunk': { backgroundColor: 'color-mix(in srgb, var(--deny) 12%, transparent)' },
  '.cm-deletedChunk .cm-deletedText': { background: 'color-mix(in srgb, var(--deny) 24%, transparent)' },
  '.cm-deletedChunk .cm-chunkButtons button': {
    color: 'var(--ink)',
    backgroundColor: 'var(--card)',
    border: '1px solid var(--line)',
    borderRadius: '4px',
    marginLeft: '4px',
    cursor: 'pointer',
  },
})
