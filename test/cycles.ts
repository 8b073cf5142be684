import { posix } from 'node:path'
import { readSource, type Source } from './read-source.ts'

type Graph = Map<string, Set<string>>

/** Files, or folders that lie in the same folder, that import each other, directly or through others of them. */
export interface Cycle {
  readonly of: 'files' | 'folders'
  /** Paths below `packages/`, in order. */
  readonly members: readonly string[]
}

/** All import cycles, of types too: between files, and between folders that lie side by side. */
export function cyclesIn(sources: readonly Source[]): Cycle[] {
  const files = importGraph(sources)
  const cycles: Cycle[] = circlesIn(files).map((members) => ({ of: 'files', members }))
  for (const folders of siblingGraphs(files).values())
    cycles.push(...circlesIn(folders).map((members) => ({ of: 'folders', members }) as const))
  return cycles
}

/** What each file imports of the others. */
function importGraph(sources: readonly Source[]): Graph {
  const nameOf = (path: string): string => path.replace(/^packages\//, '')
  const graph: Graph = new Map(sources.map(({ path }) => [nameOf(path), new Set()]))
  for (const source of sources) {
    const from = nameOf(source.path)
    for (const specifier of readSource(source).imports) {
      const to = posix.join(posix.dirname(from), specifier)
      if (specifier.startsWith('.') && graph.has(to) && to !== from) graph.get(from)!.add(to)
    }
  }
  return graph
}

/** By folder: which of the folders in it import which others. */
function siblingGraphs(files: Graph): Map<string, Graph> {
  const graphs = new Map<string, Graph>()
  for (const [from, targets] of files) {
    for (const to of targets) {
      const [one, other] = [posix.dirname(from).split('/'), posix.dirname(to).split('/')]
      const depth = one.findIndex((name, at) => name !== other[at])
      // One lies in a folder above the other.
      if (depth < 0 || depth >= other.length) continue
      const parent = one.slice(0, depth).join('/')
      const graph: Graph = graphs.get(parent) ?? new Map()
      graphs.set(parent, graph)
      const [a, b] = [one.slice(0, depth + 1).join('/'), other.slice(0, depth + 1).join('/')]
      graph.set(a, (graph.get(a) ?? new Set()).add(b))
    }
  }
  return graphs
}

/** The groups of nodes that reach each other, each in order. */
export function circlesIn(graph: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const reached = new Map([...graph.keys()].map((node) => [node, reachedFrom(node, graph)]))
  const grouped = new Set<string>()
  const groups: string[][] = []
  for (const [node, nodes] of reached) {
    if (grouped.has(node) || !nodes.has(node)) continue
    const group = [...nodes].filter((other) => reached.get(other)?.has(node))
    for (const each of group) grouped.add(each)
    groups.push(group.sort())
  }
  return groups
}

function reachedFrom(start: string, graph: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const reached = new Set<string>()
  const open = [start]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const next of graph.get(node) ?? []) {
      if (reached.has(next)) continue
      reached.add(next)
      open.push(next)
    }
  }
  return reached
}
