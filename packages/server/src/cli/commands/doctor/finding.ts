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
export const warning = (about: string, text: string, mend: string): Finding => ({ about, level: 'warning', text, mend })
export const problem = (about: string, text: string, mend: string): Finding => ({ about, level: 'problem', text, mend })
export const notPermitted = (about: string, text: string, mend: string): Finding => ({
  about,
  level: 'not-permitted',
  text,
  mend,
})
export const unreachable = (about: string, text: string, mend: string): Finding => ({
  about,
  level: 'out-of-reach',
  text,
  mend,
})
