import type { Node } from 'oxc-parser'
import type { Declared } from './modules.ts'

type Plain = Record<string, unknown> & { readonly type: string }

/** The parts of a declaration that its users do not see: bodies, values, and private members. */
const hidden: ReadonlySet<string> = new Set(['body', 'init', 'value', 'decorators'])

export interface TypeNames {
  /** The types that it uses, apart from its own type parameters. */
  readonly names: ReadonlySet<string>
  /** What it extends: parts of it, which users never have to write. */
  readonly bases: ReadonlySet<string>
}

/** The names that the types of a declaration are written with. */
export function typeNamesOf(declared: Declared): TypeNames {
  const names = new Set<string>()
  const bases = new Set<string>()
  const visit = (value: unknown, inScope: ReadonlySet<string>): void => {
    if (Array.isArray(value)) {
      for (const each of value) visit(each, inScope)
      return
    }
    if (typeof value !== 'object' || value === null || typeof (value as Plain).type !== 'string') return
    const node = value as Plain
    if (isPrivate(node)) return
    const scope = new Set([...inScope, ...parametersOf(node)])
    const named = nameIn(node)
    if (named !== undefined && !scope.has(named)) names.add(named)
    const base = baseIn(node)
    if (base !== undefined) bases.add(base)
    for (const [field, child] of Object.entries(node)) {
      if (hidden.has(field) && !isType(node.type)) continue
      visit(child, scope)
    }
  }
  visit(surfaceOf(declared), new Set())
  return { names, bases }
}

/** The part of a declaration that its users see. */
function surfaceOf({ node, name, isTypeOnly = false }: Declared): unknown {
  if (node.type === 'ClassDeclaration') return [node, node.body.body.map((member) => memberSurface(member, isTypeOnly))]
  if (node.type === 'VariableDeclaration')
    return node.declarations.filter(({ id }) => id.type === 'Identifier' && id.name === name)
  return node
}

/** A method of a class is a function expression, whose parameters and result are seen. */
function memberSurface(member: Node, isTypeOnly: boolean): unknown {
  if (isPrivate(member as unknown as Plain)) return []
  if (isTypeOnly && member.type === 'MethodDefinition' && member.kind === 'constructor') return []
  if (member.type === 'MethodDefinition')
    return [member.value.typeParameters, member.value.params, member.value.returnType]
  return member
}

const isType = (type: string): boolean => type.startsWith('TS')

function isPrivate(node: Plain): boolean {
  const key = node.key as { readonly type: string } | undefined
  return node.accessibility === 'private' || key?.type === 'PrivateIdentifier'
}

/** Type parameters are declared on functions, types, mapped types and `infer`. */
function parametersOf(node: Plain): string[] {
  const found: string[] = []
  const list = (node.typeParameters as { params?: readonly { name: { name: string } }[] } | null)?.params ?? []
  for (const each of list) found.push(each.name.name)
  if (node.type === 'TSMappedType') found.push((node.key as { name: string }).name)
  if (node.type === 'TSConditionalType') found.push(...inferred(node.extendsType))
  return found
}

function inferred(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(inferred)
  if (typeof value !== 'object' || value === null) return []
  const node = value as Plain
  const own = node.type === 'TSInferType' ? [(node.typeParameter as { name: { name: string } }).name.name] : []
  return [...own, ...Object.values(node).flatMap(inferred)]
}

/** The name that a node refers to a type by. */
const nameIn = (node: Plain): string | undefined =>
  node.type === 'TSTypeReference' ? leftmost(node.typeName) : undefined

function baseIn(node: Plain): string | undefined {
  if (node.type === 'TSInterfaceHeritage' || node.type === 'TSClassImplements') return leftmost(node.expression)
  if (node.type === 'ClassDeclaration' && node.superClass) return leftmost(node.superClass)
  return undefined
}

function leftmost(value: unknown): string | undefined {
  const node = value as Plain | null
  if (node?.type === 'Identifier') return node.name as string
  if (node?.type === 'TSQualifiedName') return leftmost(node.left)
  return undefined
}
