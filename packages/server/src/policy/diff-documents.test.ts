import { describe, expect, it } from 'vitest'
import { diffDocuments } from './diff-documents.ts'

const rule = (name: string, limits: object, more: object = {}) => ({ name, limits, ...more })

describe('the difference of two policies', () => {
  it('goes by the names of rules, not by their order', () => {
    const before = { service: 'shop', rules: [rule('a', { rpm: 1 }), rule('b', { rpm: 2 })] }
    const after = { rules: [rule('b', { rpm: 2 }), rule('a', { rpm: 1 })], service: 'shop' }
    expect(diffDocuments(before, after)).toEqual([])
  })

  it('names what was added, removed and changed', () => {
    const before = { service: 'shop', rules: [rule('a', { rpm: 1, rps: 1 }), rule('gone', { rpm: 1 })] }
    const after = { service: 'shop', rules: [rule('a', { rpm: 5 }), rule('new', { rpd: 1 })] }
    expect(diffDocuments(before, after)).toEqual([
      { path: 'rules[a].limits.rpm', kind: 'changed', before: 1, after: 5 },
      { path: 'rules[a].limits.rps', kind: 'removed', before: 1 },
      { path: 'rules[gone]', kind: 'removed', before: rule('gone', { rpm: 1 }) },
      { path: 'rules[new]', kind: 'added', after: rule('new', { rpd: 1 }) },
    ])
  })

  it('goes by the keys of overrides', () => {
    const of = (...overrides: object[]) => ({ rules: [rule('a', { rpm: 1 }, { overrides })] })
    const [vip, corp] = [
      { key: 'vip', limits: { rpm: 2 } },
      { key: ['corp', 'en'], limits: { rpm: 3 } },
    ]
    expect(diffDocuments(of(vip, corp), of(corp, vip))).toEqual([])
    expect(diffDocuments(of(vip, corp), of(vip, { ...corp, limits: { rpm: 4 } }))).toEqual([
      { path: 'rules[a].overrides[corp/en].limits.rpm', kind: 'changed', before: 3, after: 4 },
    ])
  })

  it('compares lists without names as they are', () => {
    const of = (key: string[]) => ({ rules: [rule('a', { rpm: 1 }, { key })] })
    expect(diffDocuments(of(['ip']), of(['ip', 'body.x']))).toEqual([
      { path: 'rules[a].key', kind: 'changed', before: ['ip'], after: ['ip', 'body.x'] },
    ])
  })
})
