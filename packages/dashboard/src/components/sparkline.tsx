/** A small line without axes. Undefined values are gaps and stay gaps. It only repeats the numbers beside it. */
export function Sparkline(props: {
  readonly values: readonly (number | undefined)[]
  readonly kind?: 'allow' | 'deny' | 'degraded' | 'plain'
  readonly width?: number
  readonly height?: number
}) {
  const { values, kind = 'plain', width = 92, height = 26 } = props
  return (
    <svg
      class={`spark spark-${kind}`}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path d={pathOf(known(values), width, height)} />
    </svg>
  )
}

/** Without the gap before the first value, so that a line with few values is visible. */
function known(values: readonly (number | undefined)[]): readonly (number | undefined)[] {
  const first = values.findIndex((value) => value !== undefined)
  return values.slice(Math.max(0, Math.min(first, values.length - 8)))
}

/** The path of a line from zero to the largest value. */
export function pathOf(values: readonly (number | undefined)[], width: number, height: number): string {
  const largest = Math.max(0, ...values.map((value) => value ?? 0)) || 1
  const step = width / Math.max(1, values.length - 1)
  let isDown = false
  return values
    .map((value, i) => {
      if (value === undefined) {
        isDown = false
        return ''
      }
      const point = `${(i * step).toFixed(1)},${(height - 1 - (value / largest) * (height - 2)).toFixed(1)}`
      const command = isDown ? 'L' : 'M'
      isDown = true
      return command + point
    })
    .join('')
}
