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
      'a prefix',
      'domain: x\ndescriptors: [{ key: a, value: b*, rate_limit: { unit: day, requests_per_unit: 1 } }]',
      'values with a star are not supported',
    ],
    [
      'a star in the middle',
      'domain: x\ndescriptors: [{ key: a, value: foo*bar, rate_limit: { unit: day, requests_per_unit: 1 } }]',
      'values with a star are not supported',
    ],
    [
      'unlimited beside an amount',
      'domain: x\ndescriptors: [{ key: a, rate_limit: { unlimited: true, unit: day } }]',
      'neither unit nor requests_per_unit',
    ],
    [
      'the same twice',
      'domain: x\ndescriptors: [{ key: a }, { key: a }]',
      'another descriptor has the same key and value',
    ],
    [
      'what is not known',
      'domain: x\ndescriptors: [{ key: a, rate_limit: { unit: day, requests_per_unit: 1, replaces: [] } }]',
      'this is not supported',
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
      text: `domain: ${domain}\ndescriptors: [{ key: a, value: b*, quota_mode: true }, { key: "" }]`,
    })
    expect(() => importEnvoy([wrong('x'), wrong('y')])).toThrow(
      /x\.yaml: descriptors\[0\]\.quota_mode[\s\S]*x\.yaml: descriptors\[0\]\.value[\s\S]*x\.yaml: descriptors\[1\]\.key[\s\S]*y\.yaml: descriptors/,
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

  test('takes what is off and so changes nothing', () => {
    const off = (field: string) => limited('x').replace('key: a,', `key: a, ${field},`)
    for (const field of ['quota_mode: false', 'share_threshold: false', 'shadow_mode: no'])
      expect(importEnvoy([fileOf(off(field))]).document, field).toEqual(importEnvoy([fileOf(limited('x'))]).document)
    expect(() => importEnvoy([fileOf(off('share_threshold: true'))])).toThrow('this is not supported')
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
