import type { Request } from 'express'

const refuse = (message: string): never => {
  throw Object.assign(new Error(message), { status: 400 })
}

export function assetIdOf(value: unknown, name: string): string {
  if (typeof value === 'string' && /^[\w:-]{1,64}$/.test(value)) return value
  return refuse(`${name}: give the id of an asset`)
}

/** One of a few numbers of seconds, `300` or `300s`; the first when left out. */
export function choice(request: Request, name: string, among: readonly number[]): number {
  const value = String(request.query[name] ?? among[0]).replace(/s$/, '')
  return among.find((each) => String(each) === value) ?? refuse(`${name}: use one of ${among.join(', ')}, in seconds`)
}

export function wholeNumber(request: Request, name: string, least: number, most: number): number | undefined {
  if (request.query[name] === undefined) return undefined
  const value = Number(request.query[name])
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value
  return refuse(`${name}: use a whole number from ${least} to ${most}`)
}
