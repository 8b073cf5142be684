/** What the service answers. */
export interface Sentiment {
  readonly label: 'positive' | 'negative' | 'neutral'
  /** From -1 to 1. */
  readonly score: number
}

const words: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  en: { good: 1, great: 1, love: 1, bad: -1, awful: -1, hate: -1 },
  de: { gut: 1, super: 1, liebe: 1, schlecht: -1, furchtbar: -1, hasse: -1 },
  ja: { 好き: 1, 最高: 1, 嫌い: -1, 最悪: -1 },
}

/** What `language` may be. */
export const languages: readonly string[] = Object.keys(words)

/** Counts good and bad words; a real service calls a model here. */
export function analyze(text: string, language: string): Sentiment {
  const values = words[language]!
  const found = text
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .flatMap((word) => (Object.hasOwn(values, word) ? [values[word]!] : []))
  const score = found.length === 0 ? 0 : found.reduce((sum, value) => sum + value, 0) / found.length
  return { score, label: score > 0 ? 'positive' : score < 0 ? 'negative' : 'neutral' }
}
