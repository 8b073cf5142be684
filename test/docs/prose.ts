/** The running text of a page: paragraphs, points and cells, without code, headings and the addresses of links. */
function running(text: string): string[] {
  const lines = text
    .replace(/^```[\s\S]*?^```/gm, '\n')
    .replace(/^#.*$/gm, '\n')
    .replace(/^\|[-| :]+\|$/gm, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/`[^`\n]*`/g, 'code')
    // A point, a row and each cell of it stand alone.
    .replace(/^ *(?:[-*]|\d+\.) /gm, '\n')
    .replace(/^\|.*\|$/gm, (row) => `\n${row.slice(1, -1).split('|').join('\n\n')}\n`)
    .replace(/[*_]/g, '')
  return lines.split(/\n\s*\n/).map((paragraph) => paragraph.replace(/\s+/g, ' ').trim())
}

const wordsOf = (text: string): string[] => text.match(/[\p{L}\p{N}][\p{L}\p{N}'’.,/-]*/gu) ?? []

export interface Prose {
  readonly words: number
  /** Words per sentence of the paragraphs that are sentences. */
  readonly average: number
  readonly longest: { readonly words: number; readonly text: string }
}

export function measureProse(text: string): Prose {
  const paragraphs = running(text)
  // A cell or a label of a few words is no sentence; it would only lower the average.
  const sentences = paragraphs
    .filter((paragraph) => /[.:!?]$/.test(paragraph))
    .flatMap((paragraph) => paragraph.split(/(?<=[.!?]) /))
    .map((sentence) => ({ text: sentence, words: wordsOf(sentence).length }))
    .filter(({ words }) => words > 0)
  const total = sentences.reduce((sum, { words }) => sum + words, 0)
  return {
    words: paragraphs.reduce((sum, paragraph) => sum + wordsOf(paragraph).length, 0),
    average: sentences.length === 0 ? 0 : total / sentences.length,
    longest: sentences.reduce((longest, each) => (each.words > longest.words ? each : longest), { words: 0, text: '' }),
  }
}
