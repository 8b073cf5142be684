import type { Style } from '../../terminal/style.ts'
import { pad, safe } from '../../terminal/text.ts'
import type { Finding } from './finding.ts'

/** Findings as lines for people: a mark, what was looked at, what was found, what to do. */
export function findingLines(findings: readonly Finding[], style: Style): string[] {
  const marks = {
    ok: style.good('✓'),
    warning: style.warn('!'),
    problem: style.bad('✗'),
    'out-of-reach': style.bad('✗'),
    'not-permitted': style.bad('✗'),
  }
  const width = Math.max(...findings.map(({ about }) => about.length), 0)
  return findings.flatMap(({ about, level, text, mend }) => {
    const line = `${marks[level]} ${pad(style.strong(about), width, 'left')}  ${safe(text)}`
    return mend === undefined ? [line] : [line, `  ${' '.repeat(width)}  ${style.warn('mend:')} ${mend}`]
  })
}
