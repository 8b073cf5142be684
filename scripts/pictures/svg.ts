/** The width of every picture: with this, text of 13 px is still legible where a phone shows it at 340 px. */
export const width = 480

const light = { ink: '#1e293b', soft: '#526077', paper: '#ffffff', line: '#cbd5e1', box: '#eef2f7' }
const dark = { ink: '#e2e8f0', soft: '#a3b1c6', paper: '#1b1b1f', line: '#475569', box: '#2b3240' }
const lightMarks = { pass: '#15803d', deny: '#f0a93b', mark: '#1d4ed8', limit: '#b91c1c' }
const darkMarks = { pass: '#4ade80', deny: '#b7791f', mark: '#7cacf8', limit: '#f87171' }

const variables = (colours: Readonly<Record<string, string>>): string =>
  Object.entries(colours)
    .map(([name, value]) => `--${name}: ${value}`)
    .join('; ')

/** Each picture has its own background, so that it is legible on any page, and follows the colours of the reader. */
const style = `
    svg { ${variables({ ...light, ...lightMarks })} }
    @media (prefers-color-scheme: dark) { svg { ${variables({ ...dark, ...darkMarks })} } }
    text { font: 13px system-ui, sans-serif; fill: var(--ink) } .title { font-weight: 600; font-size: 14px }
    .soft { fill: var(--soft) } .small { font-size: 12px } .strong { font-weight: 600 } .inverse { fill: var(--paper) }
    .paper { fill: var(--paper) } .box { fill: var(--box); stroke: var(--line) } .gone { fill: none; stroke: var(--line); stroke-dasharray: 3 3 }
    .pass { fill: var(--pass) } .deny { fill: var(--deny) } .mark { fill: var(--mark) } .limit { fill: var(--limit) }
    .grid { stroke: var(--line) } .top { stroke: var(--limit); stroke-dasharray: 5 4 } .sum { fill: none; stroke: var(--mark); stroke-width: 1.8 }
    .way { fill: none; stroke: var(--soft); stroke-width: 1.5 } .tip { fill: var(--soft) } .span { stroke: var(--mark); stroke-width: 5; opacity: .45 }`

const escaped = (content: string): string =>
  content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

export const round = (value: number): number => Math.round(value * 10) / 10

export interface TextOptions {
  /** Classes of the style above. */
  readonly as?: string
  readonly anchor?: 'start' | 'middle' | 'end'
}

export const text = (x: number, y: number, content: string, { as = '', anchor = 'start' }: TextOptions = {}): string =>
  `<text${as === '' ? '' : ` class="${as}"`} x="${round(x)}" y="${round(y)}"${anchor === 'start' ? '' : ` text-anchor="${anchor}"`}>${escaped(content)}</text>`

export const rect = (as: string, x: number, y: number, w: number, h: number, radius = 0): string =>
  `<rect class="${as}" x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}"${radius > 0 ? ` rx="${radius}"` : ''}/>`

export const line = (as: string, x1: number, y1: number, x2: number, y2: number): string =>
  `<line class="${as}" x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}"/>`

export const dot = (as: string, x: number, y: number, radius: number): string =>
  `<circle class="${as}" cx="${round(x)}" cy="${round(y)}" r="${radius}"/>`

/** A line from one point to another, straight, with a tip at its end. */
export function arrow(x1: number, y1: number, x2: number, y2: number): string {
  const angle = Math.atan2(y2 - y1, x2 - x1)
  const at = (turn: number, length: number): string =>
    `${round(x2 - length * Math.cos(angle + turn))},${round(y2 - length * Math.sin(angle + turn))}`
  return `${line('way', x1, y1, x2, y2)}<polygon class="tip" points="${round(x2)},${round(y2)} ${at(0.45, 9)} ${at(-0.45, 9)}"/>`
}

export interface BoxContent {
  readonly title: string
  readonly lines?: readonly string[]
}

/** A box with a title and lines of text below it. */
export function box(x: number, y: number, w: number, h: number, { title, lines = [] }: BoxContent): string {
  const first = y + (h - lines.length * 16) / 2 + 5
  return [
    rect('box', x, y, w, h, 6),
    text(x + w / 2, first, title, { as: 'strong', anchor: 'middle' }),
    ...lines.map((each, index) =>
      text(x + w / 2, first + 16 * (index + 1), each, { as: 'soft small', anchor: 'middle' }),
    ),
  ].join('\n  ')
}

export const picture = (height: number, title: string, content: readonly string[]): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">
  <style>${style}
  </style>
  ${rect('paper', 0, 0, width, height, 8)}
  ${text(14, 24, title, { as: 'title' })}
  ${content.join('\n  ')}
</svg>
`
