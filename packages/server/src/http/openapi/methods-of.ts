import { openApi } from './document.ts'

const routes = Object.entries(openApi.paths as Readonly<Record<string, object>>).map(([path, operations]) => ({
  pattern: new RegExp(`^${path.replace(/\{key\}/, '.+').replace(/\{\w+\}/g, '[^/]+')}$`),
  methods: Object.keys(operations).map((method) => method.toUpperCase()),
}))

/** The methods that the description has for a path; none when it has no such path. */
export function methodsOf(path: string): readonly string[] {
  return routes.find(({ pattern }) => pattern.test(path))?.methods ?? []
}
