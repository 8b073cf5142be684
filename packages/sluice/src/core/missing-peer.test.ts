import { describe, expect, it } from 'vitest'
import { missingPeer } from './missing-peer.ts'

const failure = (code: string, message: string) => Object.assign(new Error(message), { code })

describe('missingPeer', () => {
  it('names the part, the package and how to install it', async () => {
    const name = 'a-package-that-nobody-has'
    const cause: unknown = await import(/* @vite-ignore */ name).catch((error: unknown) => error)
    expect(
      missingPeer('sluice/egress', name, '7', Object.assign(cause as Error, { code: 'ERR_MODULE_NOT_FOUND' })),
    ).toMatchObject({
      code: 'SLUICE_MISSING_PEER',
      message: `sluice/egress needs ${name}: npm install ${name}@7`,
      cause,
    })
  })

  it.each([
    ['a bundle in CommonJS', "Cannot find module 'undici'"],
    [
      "Yarn's Plug'n'Play",
      "sluice tried to access undici (a peer dependency) but it isn't provided by your application",
    ],
  ])('understands %s too', (_, message) => {
    const cause = failure('MODULE_NOT_FOUND', message)
    expect(missingPeer('sluice/egress', 'undici', '7', cause)).toMatchObject({ code: 'SLUICE_MISSING_PEER' })
  })

  it.each([
    ['is broken', new SyntaxError('Unexpected token')],
    [
      'lacks a package of its own',
      failure('ERR_MODULE_NOT_FOUND', "Cannot find package 'busboy' imported from undici"),
    ],
  ])('leaves the error of a package that %s as it is', (_, cause) => {
    expect(missingPeer('sluice/egress', 'undici', '7', cause)).toBe(cause)
  })
})
