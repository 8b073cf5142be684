import type { RequestView } from '../../policy/request-view.ts'

/** Where an adapter finds the parts of a request. Each is read only when a rule asks for it. */
export interface RequestParts<Source> {
  headers(source: Source): RequestView['headers']
  ip(source: Source, view: RequestView): string | undefined
  query(source: Source): RequestView['query']
  params(source: Source): RequestView['params']
  body(source: Source): unknown
  route(source: Source): string | undefined
  context(source: Source): RequestView['context']
}

/** A request view that costs nothing for the parts no rule looks at. */
export class LazyView<Source> implements RequestView {
  readonly method: string
  readonly path: string
  readonly #source: Source
  readonly #parts: RequestParts<Source>

  constructor(method: string, path: string, source: Source, parts: RequestParts<Source>) {
    this.method = method
    this.path = path
    this.#source = source
    this.#parts = parts
  }

  get headers(): RequestView['headers'] {
    return this.#parts.headers(this.#source)
  }
  get ip(): string | undefined {
    return this.#parts.ip(this.#source, this)
  }
  get query(): RequestView['query'] {
    return this.#parts.query(this.#source)
  }
  get params(): RequestView['params'] {
    return this.#parts.params(this.#source)
  }
  get body(): unknown {
    return this.#parts.body(this.#source)
  }
  get route(): string | undefined {
    return this.#parts.route(this.#source)
  }
  get context(): RequestView['context'] {
    return this.#parts.context(this.#source)
  }
}
