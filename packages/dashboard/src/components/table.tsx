import type { ComponentChildren } from 'preact'

export interface Column<Row> {
  readonly id: string
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  readonly number?: boolean
  /** Left out on a phone. */
  readonly wideOnly?: boolean
  /** As narrow as its contents. */
  readonly narrow?: boolean
  /** Can be sorted by; the largest come first. */
  readonly sortable?: boolean
}

/** A table with a caption, and with columns that can be sorted by. The rows come in their order. */
export function Table<Row>(props: {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  readonly sort?: string
  readonly onSort?: (column: string) => void
}) {
  const { columns, rows, sort, onSort } = props
  const classOf = (column: Column<Row>): string =>
    `${column.number ? 'number' : ''} ${column.wideOnly ? 'wide-only' : ''} ${column.narrow ? 'narrow' : ''}`
  return (
    <table class="table">
      <caption class="visually-hidden">{props.label}</caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <th
              key={column.id}
              scope="col"
              class={classOf(column)}
              aria-sort={sort === column.id ? 'descending' : undefined}
            >
              {column.sortable && onSort ? (
                <button type="button" class="sort" onClick={() => onSort(column.id)}>
                  {column.title}
                  <span aria-hidden="true">{sort === column.id ? ' ↓' : ''}</span>
                </button>
              ) : (
                column.title
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={props.rowKey(row)}>
            {columns.map((column) => (
              <td key={column.id} class={classOf(column)}>
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
