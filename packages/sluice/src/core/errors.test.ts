import { describe, expect, it } from 'vitest'
import { errorCodes, isSluiceError, SluiceError, StoreError } from './errors.ts'

const withCode = (code: unknown) => Object.assign(new Error('not ours'), { code })

describe('isSluiceError', () => {
  it('knows every error of Sluice, also one of another copy of the package', () => {
    expect(isSluiceError(new SluiceError('SLUICE_CLOSED', 'closed'))).toBe(true)
    expect(isSluiceError(new StoreError('oom', 'full'))).toBe(true)
    for (const code of errorCodes) expect(isSluiceError(withCode(code))).toBe(true)
  })

  it.each(['toString', 'constructor', '__proto__', 'hasOwnProperty', 'ECONNREFUSED', '', undefined, null, 11000, {}])(
    'does not take another error with the code %s for one',
    (code) => expect(isSluiceError(withCode(code))).toBe(false),
  )

  it('does not take anything else for an error', () => {
    for (const value of [undefined, null, 'SLUICE_CLOSED', { code: 'SLUICE_CLOSED' }])
      expect(isSluiceError(value)).toBe(false)
  })
})
