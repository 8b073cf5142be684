import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'

interface Generator {
  generate(folder: string): string | undefined
  strip(lines: readonly string[]): string[]
}
const generatorFile = '../scripts/lua.mjs'
const { generate, strip } = (await import(generatorFile)) as Generator

const lines = (text: string): string[] => strip(text.split('\n'))

describe('shipping a Lua script', () => {
  it('drops comment lines, blank lines and indentation', () => {
    expect(lines('-- KEYS[1]\n\n  local a = 1 -- why\n\t--- more\n  return a')).toEqual([
      'local a = 1 -- why',
      'return a',
    ])
  })

  it('drops block comments, over several lines too', () => {
    expect(lines('--[[ one ]]\n--[==[\nlocal x = 1\n]]\n]==]\nreturn 1')).toEqual(['return 1'])
  })

  it('leaves long strings as they are', () => {
    const text = 'local a = [[  \n  -- not a comment\n\n]]\nreturn a'
    expect(lines(text)).toEqual(text.split('\n'))
  })

  it('is not misled by brackets in strings and comments', () => {
    expect(lines('local a = "[["\n-- c\nlocal b = 1 -- [[\n-- d\nreturn t[t[1]]')).toEqual([
      'local a = "[["',
      'local b = 1 -- [[',
      'return t[t[1]]',
    ])
  })
})

describe('the generated module', () => {
  let folder = ''
  const write = (files: Record<string, string>) => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-lua-'))
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    return generate(folder)
  }
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it('has one export per script, with each piece included once', () => {
    const text = write({
      'take-all.lua': '-- header\n--- @include a.lua\n--- @include "b"\nreturn a + b',
      'a.lua': '--- @include b.lua\nlocal a = 1',
      'b.lua': 'local b = 2',
    })
    expect(text).toContain("export const takeAll: Script = {\n  name: 'takeAll',")
    expect(text).toContain('source: `local b = 2\nlocal a = 1\nreturn a + b\n`')
    expect(text?.match(/export const/g)).toHaveLength(1)
  })

  it('keeps backslashes and back-quotes', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is Lua
    expect(write({ 'a.lua': "return '\\n`${x}'" })).toContain("source: `return '\\\\n\\`\\${x}'\n`")
  })

  it('inserts an inlined piece at every place', () => {
    const text = write({
      'a.lua': 'local a = 1\n--- @inline rule.lua\na = 2\n--- @inline rule.lua\nreturn a',
      'rule.lua': '-- why\na = a + 1',
    })
    expect(text).toContain('source: `local a = 1\na = a + 1\na = 2\na = a + 1\nreturn a\n`')
    expect(text?.match(/export const/g)).toHaveLength(1)
  })

  it('has numbers for named constants, except in texts, and the names for the client', () => {
    const text = write({
      'a.lua': "--- @include c.lua\nreturn ARGV[FIRST], 'FIRST', FIRST_ONE -- FIRST",
      'c.lua': '--- @const FIRST = 7 -- why\n--- @const SECOND = -1',
    })
    expect(text).toContain('export const constants = {\n  FIRST: 7,\n  SECOND: -1,\n} as const')
    expect(text).toContain("source: `return ARGV[7], 'FIRST', FIRST_ONE -- FIRST\n`")
  })

  it('refuses one name for two values', () => {
    expect(() => write({ 'a.lua': '--- @const A = 1\n--- @const A = 2\nreturn A' })).toThrow(/A is declared with two/)
  })
})
