type Paint = (text: string) => string

/** Colours by what they mean. Without a terminal they change nothing. */
export interface Style {
  readonly strong: Paint
  readonly faint: Paint
  readonly good: Paint
  readonly bad: Paint
  readonly warn: Paint
  readonly accent: Paint
}

const plain: Paint = (text) => text

const painted =
  (on: number, off: number): Paint =>
  (text) =>
    text === '' ? '' : `\u001b[${on}m${text}\u001b[${off}m`

export function styleFor(colour: boolean): Style {
  if (!colour) return { strong: plain, faint: plain, good: plain, bad: plain, warn: plain, accent: plain }
  return {
    strong: painted(1, 22),
    faint: painted(2, 22),
    good: painted(32, 39),
    bad: painted(31, 39),
    warn: painted(33, 39),
    accent: painted(36, 39),
  }
}

/** Whether to colour: what was asked for, else by NO_COLOR, FORCE_COLOR and what kind of terminal there is. */
export function wantsColour(
  asked: boolean | undefined,
  isTTY: boolean,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  if (asked !== undefined) return asked
  if ((env.NO_COLOR ?? '') !== '') return false
  if ((env.FORCE_COLOR ?? '') !== '') return env.FORCE_COLOR !== '0'
  return isTTY && env.TERM !== 'dumb'
}
