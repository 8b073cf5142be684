import { compilePolicy, policyWarnings } from 'sluice/policy'
import { describe, expect, test } from 'vitest'
import { codeFor, frameworkOf, frameworks } from './frameworks.ts'
import { starterPolicy } from './starter-policy.ts'

describe('a policy to begin with', () => {
  test('is good, without a warning', () => {
    const policy = compilePolicy(starterPolicy('shop'))
    expect(policyWarnings(policy, Date.now())).toEqual([])
    expect(policy).toMatchObject({ service: 'shop' })
  })

  test.each(frameworks.filter((name) => name !== 'daemon'))(
    'comes with lines that can be pasted for %s',
    async (name) => {
      const [, load = '', , use = ''] = codeFor(name, 'sluice.yaml')
      const [, imported = '', entry = ''] = /^import \{ (\w+) \} from '(sluice\/\w+)'$/.exec(load) ?? []
      expect(await import(entry)).toMatchObject({ [imported]: expect.any(Function) })
      expect(use).toContain(imported)
    },
  )

  test.each([
    [{ express: '5' }, 'express'],
    [{ '@nestjs/core': '12', express: '5' }, 'nest'],
    [{ next: '16' }, 'fetch'],
    [{ leftpad: '1' }, 'node'],
  ])('is for what a project has installed: %j', (dependencies, framework) => {
    expect(frameworkOf(dependencies)).toBe(framework)
  })
})
