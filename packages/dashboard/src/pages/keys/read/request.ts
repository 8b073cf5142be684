/** A request as the API takes it. */
export interface RequestJson {
  readonly method: string
  readonly path: string
  readonly query?: Readonly<Record<string, string | readonly string[]>>
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: unknown
  readonly ip?: string
}

/** A request that was read from a text, and what of the text was left out. */
export interface ReadRequest {
  readonly request: RequestJson
  readonly notes: readonly string[]
}

/** The path, the query and the host of an address, which may lack the scheme or be a path alone. */
export function targetOf(
  address: string,
  extraQuery = '',
): { path: string; query: RequestJson['query']; host: string | undefined } {
  const isPath = address.startsWith('/')
  const full = isPath
    ? `http://localhost${address}`
    : /^[a-z][a-z\d+.-]*:\/\//i.test(address)
      ? address
      : `http://${address}`
  let url: URL
  try {
    url = new URL(full)
  } catch {
    return { path: '/', query: undefined, host: undefined }
  }
  const search = [url.search.slice(1), extraQuery].filter((each) => each !== '').join('&')
  return {
    path: url.pathname,
    query: search === '' ? undefined : fieldsOf(search),
    host: isPath ? undefined : url.host,
  }
}

/** The fields of a query or a form; one that comes several times is a list. */
export function fieldsOf(text: string): Record<string, string | string[]> {
  const fields: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>
  for (const [name, value] of new URLSearchParams(text)) {
    const former = fields[name]
    fields[name] = former === undefined ? value : [former, value].flat()
  }
  return { ...fields }
}

/** A body as a service would have parsed it, by its content type. */
export function bodyOf(
  text: string,
  type: string | readonly string[] | undefined,
  notes: Set<string>,
): { body?: unknown } {
  const kind = String(type ?? '')
    .split(';')[0]!
    .trim()
    .toLowerCase()
  if (kind === 'application/x-www-form-urlencoded') return { body: fieldsOf(text) }
  if (!/[/+]json$/.test(kind)) return text === '' ? {} : { body: text }
  try {
    return { body: JSON.parse(text) as unknown }
  } catch {
    notes.add('The body is not valid JSON.')
    return {}
  }
}

/** The words by which the daemon knows secrets, too. */
const secretNames =
  /auth|cookie|token|secret|passw|api[-_]?key|access[-_]?key|session|signature|credential|bearer|private/i

/** The names of headers with credentials: they are left out of links. */
export function secretHeaders({ headers }: RequestJson): readonly string[] {
  return Object.keys(headers).filter((name) => secretNames.test(name))
}

/** A request without what must not be in an address. */
export function forLink(request: RequestJson): RequestJson {
  const hidden = new Set(secretHeaders(request))
  return {
    ...request,
    headers: Object.fromEntries(Object.entries(request.headers).filter(([name]) => !hidden.has(name))),
  }
}
