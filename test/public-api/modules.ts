import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type Declaration as DeclarationNode, type Node, parseSync } from 'oxc-parser'

/** What a name of a module refers to. */
export interface Declared {
  readonly file: string
  readonly name: string
  readonly node: DeclarationNode
  /** Whether only its type is exported: a class that users cannot construct. */
  readonly isTypeOnly?: boolean
}

interface Origin {
  readonly file: string
  readonly name: string
  readonly isTypeOnly?: boolean
}

interface Module {
  /** By name: what is declared at the top of the file. */
  readonly declared: ReadonlyMap<string, Declared>
  /** By name: what comes from another file of the library. */
  readonly imported: ReadonlyMap<string, Origin>
  /** By exported name: where it comes from. */
  readonly exported: ReadonlyMap<string, Origin>
  /** The files all of whose exports are exported too. */
  readonly all: readonly string[]
}

const modules = new Map<string, Module>()

/** Everything that a module exports, by name. */
export function exportsOf(file: string): Map<string, Declared> {
  const { exported, all } = moduleOf(file)
  const found = new Map(all.flatMap((from) => [...exportsOf(from)]))
  for (const [name, from] of exported) {
    const declared = find(from.file, from.name)
    if (declared !== undefined) found.set(name, from.isTypeOnly ? { ...declared, isTypeOnly: true } : declared)
  }
  return found
}

/** What a name means within a module; undefined when it comes from elsewhere than the library. */
export function find(file: string, name: string): Declared | undefined {
  const { declared, imported } = moduleOf(file)
  const from = imported.get(name)
  return declared.get(name) ?? (from && exportsOf(from.file).get(from.name))
}

function moduleOf(file: string): Module {
  let known = modules.get(file)
  if (known === undefined) {
    known = read(file)
    modules.set(file, known)
  }
  return known
}

function read(file: string): Module {
  const { program, errors } = parseSync(file, readFileSync(file, 'utf8'))
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`)
  const declared = new Map<string, Declared>()
  const imported = new Map<string, Origin>()
  const exported = new Map<string, Origin>()
  const all: string[] = []
  const declare = (node: Node): string[] => {
    const names = namesOf(node)
    for (const name of names) declared.set(name, { file, name, node: node as DeclarationNode })
    return names
  }
  for (const node of program.body) {
    if (node.type === 'ImportDeclaration') {
      if (!node.source.value.startsWith('.')) continue
      for (const each of node.specifiers)
        if (each.type === 'ImportSpecifier')
          imported.set(each.local.name, { file: beside(file, node.source.value), name: textOf(each.imported) })
    } else if (node.type === 'ExportAllDeclaration') all.push(beside(file, node.source.value))
    else if (node.type === 'ExportNamedDeclaration') {
      if (node.declaration !== null) for (const name of declare(node.declaration)) exported.set(name, { file, name })
      const from = node.source === null ? file : beside(file, node.source.value)
      for (const each of node.specifiers) {
        const isTypeOnly = node.exportKind === 'type' || each.exportKind === 'type'
        exported.set(textOf(each.exported), { file: from, name: textOf(each.local), isTypeOnly })
      }
    } else declare(node)
  }
  // What is exported from another file is looked up like an import, under a name that nothing else can have.
  for (const [name, { isTypeOnly, ...from }] of exported) {
    if (from.file === file) continue
    imported.set(`export ${name}`, from)
    exported.set(name, { file, name: `export ${name}`, ...(isTypeOnly && { isTypeOnly }) })
  }
  return { declared, imported, exported, all }
}

function namesOf(node: Node): string[] {
  if (node.type === 'VariableDeclaration')
    return node.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []))
  const { id } = node as { id?: { readonly type: string; readonly name?: string } | null }
  return id?.type === 'Identifier' && id.name !== undefined ? [id.name] : []
}

const textOf = (name: { readonly type: string; readonly name?: string; readonly value?: unknown }): string =>
  name.name ?? String(name.value)

const beside = (file: string, specifier: string): string => resolve(join(dirname(file), specifier))
