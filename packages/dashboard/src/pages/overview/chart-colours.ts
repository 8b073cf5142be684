/** The colours of the style sheet, as a canvas needs them. */
export interface ChartColours {
  readonly allow: string
  readonly allowFill: string
  readonly deny: string
  readonly degraded: string
  readonly card: string
  readonly line: string
  readonly soft: string
  readonly ink: string
}

/** Reads the colours that apply to an element: light or dark. */
export function chartColours(element: HTMLElement): ChartColours {
  const probe = document.createElement('span')
  element.append(probe)
  const read = (value: string): string => {
    probe.style.color = value
    return getComputedStyle(probe).color
  }
  const colours = {
    allow: read('var(--allow)'),
    allowFill: read('color-mix(in srgb, var(--allow) 72%, var(--card))'),
    deny: read('var(--deny)'),
    degraded: read('var(--degraded)'),
    card: read('var(--card)'),
    line: read('var(--line)'),
    soft: read('var(--soft)'),
    ink: read('var(--ink)'),
  }
  probe.remove()
  return colours
}

/** Stripes, so that degraded is not shown by colour alone. */
export function hatch(context: CanvasRenderingContext2D, colours: ChartColours): CanvasPattern {
  const size = 8
  const tile = document.createElement('canvas')
  tile.width = size
  tile.height = size
  const draw = tile.getContext('2d')!
  draw.fillStyle = colours.card
  draw.fillRect(0, 0, size, size)
  draw.globalAlpha = 0.25
  draw.fillStyle = colours.degraded
  draw.fillRect(0, 0, size, size)
  draw.globalAlpha = 1
  draw.strokeStyle = colours.degraded
  draw.lineWidth = 2
  draw.beginPath()
  for (const from of [-size, 0, size]) {
    draw.moveTo(from, size)
    draw.lineTo(from + size, 0)
  }
  draw.stroke()
  return context.createPattern(tile, 'repeat')!
}
