import type { Node } from 'oxc-parser'
import { type Declared, find } from './modules.ts'

interface Parameter {
  readonly type: string
  readonly name?: string
  readonly left?: Parameter
  readonly typeAnnotation?: { readonly typeAnnotation: TypeNode } | null
}

interface TypeNode {
  readonly type: string
  readonly typeName?: { readonly name?: string }
  readonly types?: readonly TypeNode[]
  readonly members?: readonly Member[]
}

interface Member {
  readonly type: string
  readonly key?: { readonly name?: string }
  readonly typeAnnotation?: { readonly typeAnnotation: TypeNode } | null
}

interface Callable {
  readonly key: { readonly type?: string; readonly name?: string }
  readonly params?: readonly Parameter[]
  readonly value?: { readonly params: readonly Parameter[] }
}

/** An option object, by the name of its type or of the parameter. */
const isOptions = (name: string): boolean => /(Options|Place|Rules)$/.test(name)

/**
 * The parts of an exported name that take options: the function itself, methods of its type, and options within
 * options, such as `createLimiter`, `Limiter.take` and `createLimiter.breaker`.
 */
export function optionTakers(name: string, declared: Declared): string[] {
  const node = declared.node as Node & { readonly params?: readonly Parameter[] }
  const within = (owner: string, params: readonly Parameter[] = []): string[] =>
    params.flatMap((each) => takersOf(owner, each.left ?? each, declared))
  if (node.type === 'FunctionDeclaration') return within(name, node.params)
  if (node.type === 'ClassDeclaration')
    return (node.body.body as unknown as Callable[]).flatMap(({ key, value }) =>
      key?.type === 'PrivateIdentifier' || (declared.isTypeOnly && key?.name === 'constructor')
        ? []
        : within(`${name}.${key?.name}`, value?.params),
    )
  if (node.type === 'TSInterfaceDeclaration')
    return (node.body.body as unknown as Callable[]).flatMap(({ key, params }) =>
      within(`${name}.${key?.name}`, params),
    )
  if (node.type === 'VariableDeclaration' && isPlugin(node.declarations[0]?.id as Parameter)) return [name]
  return []
}

/** A plugin of Fastify gets its options from whoever registers it. */
const isPlugin = (variable: Parameter | undefined): boolean =>
  variable?.typeAnnotation?.typeAnnotation.typeName?.name === 'FastifyPluginCallback'

function takersOf(owner: string, parameter: Parameter, { file }: Declared): string[] {
  const type = parameter.typeAnnotation?.typeAnnotation
  const named = type?.typeName?.name ?? ''
  if (parameter.name !== 'options' && !isOptions(named)) return []
  return [owner, ...(type ? nestedIn(owner, type, file) : [])]
}

/** The options within an options type that are objects themselves. */
function nestedIn(owner: string, type: TypeNode, file: string): string[] {
  return membersOf(type, file).flatMap(({ member, from }) => {
    const own = member.typeAnnotation?.typeAnnotation
    if (own === undefined || member.type !== 'TSPropertySignature') return []
    return (own.types ?? [own]).some((each) => isObject(each)) ? nestedOwner(owner, member, own, from) : []
  })
}

function nestedOwner(owner: string, member: Member, type: TypeNode, file: string): string[] {
  const name = `${owner}.${member.key?.name}`
  return [name, ...(type.types ?? [type]).flatMap((each) => nestedIn(name, each, file))]
}

const isObject = ({ type, typeName, members }: TypeNode): boolean =>
  type === 'TSTypeLiteral'
    ? members!.every((member) => member.type === 'TSPropertySignature')
    : isOptions(typeName?.name ?? '')

function membersOf(type: TypeNode, file: string): { readonly member: Member; readonly from: string }[] {
  if (type.members) return type.members.map((member) => ({ member, from: file }))
  const declared = find(file, type.typeName?.name ?? '')
  if (declared?.node.type === 'TSTypeAliasDeclaration')
    return membersOf(declared.node.typeAnnotation as TypeNode, declared.file)
  if (declared?.node.type !== 'TSInterfaceDeclaration') return []
  const bases = declared.node.extends.flatMap(({ expression }) =>
    membersOf({ type: 'TSTypeReference', typeName: expression as { name?: string } }, declared.file),
  )
  const own = declared.node.body.body as unknown as Member[]
  return [...bases, ...own.map((member) => ({ member, from: declared.file }))]
}
