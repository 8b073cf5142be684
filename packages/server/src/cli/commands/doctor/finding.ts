/** One thing the doctor looked at. */
export interface Finding {
  /** What was looked at: `redis version`, `clock`, `policy`. */
  readonly about: string
  readonly level: 'ok' | 'warning' | 'problem' | 'out-of-reach' | 'not-permitted'
  readonly text: string
  /** What to do about it. */
  readonly mend?: string
}

export const ok = (about: string, text: string): Finding => ({ about, level: 'ok', text })
type Report = (about: string, text: string, mend: string) => Finding

const at =
  (level: Finding['level']): Report =>
  (about, text, mend) => ({ about, level, text, mend })
export const warning: Report = at('warning')
export const problem: Report = at('problem')
export const notPermitted: Report = at('not-permitted')
export const unreachable: Report = at('out-of-reach')
