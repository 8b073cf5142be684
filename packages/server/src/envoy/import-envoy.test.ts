import { compilePolicy, policyWarnings } from 'sluice/policy'
import { describe, expect, test } from 'vitest'
import { importEnvoy } from './import-envoy.ts'

const fileOf = (text: string) => ({ name: 'rl.yaml', text })
const limited = (domain: string) =>
  `domain: ${domain}\ndescriptors: [{ key: a, rate_limit: { unit: day, requests_per_unit: 1 } }]`

describe('importing Envoy configuration', () => {
  test('several domains become one policy', () => {
    const other = `domain: other\ndescriptors: [{ key: ip, rate_limit: { unit: second, requests_per_unit: 10 } }]`
    const { document } = importEnvoy([fileOf(limited('shop')), fileOf(other)], { service: 'edge' })
    expect(document.service).toBe('edge')
    expect(document.rules.map(({ name }) => name)).toContain('other.ip')
  })

  test.each([
    ['no domain', 'descriptors: []', 'domain is undefined'],
    ['no limit at all', 'domain: x', 'there is no limit in it'],
    [
      'a unit that Envoy does not have',
      'domain: x\ndescriptors: [{ key: a, rate_limit: { unit: fortnight, requests_per_unit: 1 } }]',
      'descriptors[0].rate_limit.unit is "fortnight"',
    ],
    [
      'a star in a key',
      'domain: x\ndescriptors: [{ key: a*, rate_limit: { unit: day, requests_per_unit: 1 } }]',
      'rl.yaml: descriptors[0].key is "a*"; a key has no star; write it in the value',
    ],
    [
      'what is shared without a star',
      'domain: x\ndescriptors: [{ key: a, value: b, share_threshold: true }]',
      'rl.yaml: descriptors[0].share_threshold is true; only a value with a star is shared',
    ],
    [
      'a pattern that would fit an empty value',
      'domain: x\ndescriptors: [{ key: a, value: "*\\0" }]',
      'rl.yaml: descriptors[0].value is "*\\u0000"; a pattern has no character U+0000',
    ],
    [
      'a limit that replaces itself',
      'domain: x\ndescriptors: [{ key: a, rate_limit: { unit: day, requests_per_unit: 1, name: n, replaces: [{ name: n }] } }]',
      'rl.yaml: descriptors[0].rate_limit.replaces[0] is {"name":"n"}; it is the name of this limit',
    ],
    [
      'what is replaced without a name',
      'domain: x\ndescriptors: [{ key: a, rate_limit: { unit: day, requests_per_unit: 1, replaces: [n] } }]',
      'rl.yaml: descriptors[0].rate_limit.replaces[0] is "n"; use the name of another limit',
    ],
    [
      'unlimited beside an amount',
      'domain: x\ndescriptors: [{ key: a, rate_limit: { unlimited: true, unit: day } }]',
      'neither unit nor requests_per_unit',
    ],
    [
      'the same twice',
      'domain: x\ndescriptors: [{ key: a }, { key: a }]',
      'rl.yaml: descriptors[1] is ["a",null]; rl.yaml: descriptors[0] has the same key and value',
    ],
    [
      'what is not known',
      'domain: x\ndescriptors: [{ key: a, rate_limit: { unit: day, requests_per_unit: 1, burst: 2 } }]',
      'rl.yaml: descriptors[0].rate_limit.burst is "2"; this is not supported',
    ],
    [
      'a field that Envoy does not have there',
      'domain: x\nshadow_mode: true\ndescriptors: [{ key: a }]',
      'rl.yaml: shadow_mode is "true"; this is not supported',
    ],
    [
      'a mode that is neither on nor off',
      'domain: x\ndescriptors: [{ key: a, shadow_mode: maybe }]',
      'rl.yaml: descriptors[0].shadow_mode is "maybe"; use true or false',
    ],
    [
      'an amount that Go would read as another',
      'domain: x\ndescriptors: [{ key: a, rate_limit: { unit: day, requests_per_unit: 010 } }]',
      'requests_per_unit is "010"; use a whole number up to 4294967295, in decimal digits',
    ],
  ])('refuses %s and says where', (_, text, message) => {
    expect(() => importEnvoy([fileOf(text)])).toThrow(message)
  })

  test('names every problem at once, with its file', () => {
    const wrong = (domain: string) => ({
      name: `${domain}.yaml`,
      text: `domain: ${domain}\ndescriptors: [{ key: a, burst: 2, share_threshold: true }, { key: "" }]`,
    })
    expect(() => importEnvoy([wrong('x'), wrong('y')])).toThrow(
      /x\.yaml: descriptors\[0\]\.burst[\s\S]*x\.yaml: descriptors\[0\]\.share_threshold[\s\S]*x\.yaml: descriptors\[1\]\.key[\s\S]*y\.yaml: descriptors/,
    )
  })

  test.each([
    ['does not parse', 'domain: [', /^Envoy configuration refused: rl\.yaml: .* at line 1, column 10$/],
    ['is more than one document', 'domain: x\n---\ndomain: y', /rl\.yaml: /],
    ['names an anchor that is not there', 'domain: x\ndescriptors: *none', /rl\.yaml: /],
    ['has a tag', 'domain: x\ndescriptors: [{ key: a, value: !!binary aGk= }]', /rl\.yaml: the tag .*binary/],
  ])('names the file that %s', (_, text, message) => {
    const good = { name: 'good.yaml', text: limited('good') }
    expect(() => importEnvoy([good, fileOf(text)])).toThrow(message)
  })

  test('refuses domains that differ in case only: rules could not tell them apart', () => {
    const files = ['Shop', 'shop'].map((domain) => ({ name: `${domain}.yaml`, text: limited(domain) }))
    expect(() => importEnvoy(files)).toThrow('shop.yaml: domain is "shop"; Shop.yaml has it already')
  })

  test('merges files of one domain, and refuses what two of them have', () => {
    const files = ['a', 'b'].map((key) => ({
      name: `${key}.yaml`,
      text: limited('x').replace('key: a', `key: ${key}`),
    }))
    const { document, warnings } = importEnvoy(files)
    expect(document.rules.map(({ name }) => name)).toEqual(['x.a', 'x.b'])
    expect(warnings).toEqual(['b.yaml: domain was merged with that of a.yaml.'])
    expect(() => importEnvoy([...files, { ...files[0]!, name: 'c.yaml' }])).toThrow(
      'c.yaml: descriptors[0] is ["a",null]; a.yaml: descriptors[0] has the same key and value; keep one of them',
    )
  })

  test('warns of a limit that replaces nothing', () => {
    const text = limited('x').replace('unit: day', 'unit: day, replaces: [{ name: gone }]')
    expect(importEnvoy([fileOf(text)]).warnings).toEqual([
      'rl.yaml: descriptors[0].rate_limit.replaces names "gone", and no limit of the domain has that name.',
    ])
  })

  test('takes what is off and so changes nothing', () => {
    const off = (field: string) => limited('x').replace('key: a,', `key: a, ${field},`)
    for (const field of ['quota_mode: false', 'share_threshold: false', 'shadow_mode: no'])
      expect(importEnvoy([fileOf(off(field))]).document, field).toEqual(importEnvoy([fileOf(limited('x'))]).document)
  })

  test('a policy that was made from it has no warnings', () => {
    expect(policyWarnings(compilePolicy(importEnvoy([fileOf(limited('shop'))]).yaml))).toEqual([])
  })

  test('tells what it leaves out', () => {
    const text =
      'domain: x\ndescriptors: [{ key: a, detailed_metric: true, rate_limit: { unit: day, requests_per_unit: 1 } }]'
    expect(importEnvoy([fileOf(text)]).warnings).toEqual([
      'rl.yaml: descriptors[0].detailed_metric was left out: it concerns metrics only.',
    ])
  })

  test('keys and values of any characters survive', () => {
    const text = `domain: "a b/c"\ndescriptors: [{ key: "x.y z", value: ":\\"q", rate_limit: { unit: week, requests_per_unit: 1 } }]`
    expect(importEnvoy([fileOf(text)]).document.rules).toHaveLength(1)
  })
})
