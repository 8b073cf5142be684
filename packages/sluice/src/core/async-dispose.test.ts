import { afterEach, expect, it, vi } from 'vitest'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.resetModules()
})

it('is the symbol of the runtime where there is one', async () => {
  expect((await import('./async-dispose.ts')).asyncDispose).toBe(Symbol.asyncDispose)
})

it('is what compilers call in its place where there is none', async () => {
  const fallback = Symbol.for('Symbol.asyncDispose')
  const { asyncDispose: _, ...others } = Object.getOwnPropertyDescriptors(Symbol)
  const { name, length, prototype, ...statics } = others as Record<string, PropertyDescriptor>
  const native = Symbol
  vi.resetModules()
  vi.stubGlobal(
    'Symbol',
    Object.defineProperties((about?: string) => native(about), statics),
  )
  const { asyncDispose } = await import('./async-dispose.ts')
  vi.unstubAllGlobals()
  expect(asyncDispose).toBe(fallback)
})
