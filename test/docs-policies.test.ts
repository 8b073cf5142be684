import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { importEnvoy } from '../packages/server/src/envoy/import-envoy.ts'
import { readPipeline } from '../packages/server/src/work/pipeline-document.ts'
import { compilePolicy } from '../packages/sluice/src/policy/compile/compile-policy.ts'
import { parseDocument } from '../packages/sluice/src/policy/document/parse/parse-document.ts'

const root = join(import.meta.dirname, '..')
const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], { cwd: root })
const pages = listed
  .toString()
  .split('\n')
  // What is generated from comments names functions that only an application has.
  .filter((file) => file !== '' && !file.startsWith('docs/reference/') && existsSync(join(root, file)))
const found = (pattern: RegExp): { page: string; groups: Record<string, string> }[] =>
  pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(pattern)].map(({ groups }) => ({
      page,
      groups: { ...groups },
    })),
  )

/** A block is a policy unless the word after `yaml` names something else. */
const blocks = found(/^ *```ya?ml(?: (?<owner>\w+))?\n(?<text>[\s\S]*?)^ *```/gm).map(({ page, groups }) => ({
  page,
  owner: groups.owner,
  text: groups.text!,
  first: groups.text!.split('\n')[0]!,
}))
const policies = blocks.filter(({ owner }) => owner === undefined)
const others = blocks.filter(({ owner }) => owner !== undefined)

/** Completes a fragment of a policy, such as one rule, to a whole one. */
function completed(text: string): string {
  if (text.startsWith('- ')) return `service: docs\nrules:\n${text.replace(/^/gm, '  ')}`
  return /^service:/m.test(text) ? text : `service: docs\n${text}`
}

describe('the policies in the documentation', () => {
  it('are found', () => expect(policies.length).toBeGreaterThanOrEqual(8))

  it.each(policies)('compile, fragments too: $page, $first', ({ text }) => {
    const { rules, upstreams, capacity } = compilePolicy(parseDocument(completed(text)))
    expect(rules.length + upstreams.length + (capacity === undefined ? 0 : 1)).toBeGreaterThan(0)
  })
})

describe('the pieces of policies in running text', () => {
  const limits = found(/`(?<text>\{ (?:amount|rps|rpm|rph|rpd): [^`]*\})`/g)
  const fields = found(/`(?<text>(?:key|onMissing|onStoreFailure|mode|lease): [^`']*)`/g)
  const pieces = [
    ...limits.map(({ page, groups }) => ({ page, text: `limits: ${groups.text}` })),
    ...fields.map(({ page, groups }) => ({ page, text: groups.text! })),
  ]

  it('are found', () => expect(pieces.length).toBeGreaterThanOrEqual(8))

  it.each(pieces)('compile as part of a rule: $page, $text', ({ text }) => {
    const whole = { key: 'ip', limits: '{ amount: 1, per: day, algorithm: calendar }' }
    const rest = Object.entries(whole).filter(([field]) => !text.startsWith(`${field}:`))
    const lines = ['name: piece', text, ...rest.map(([field, value]) => `${field}: ${value}`)]
    expect(compilePolicy(parseDocument(completed(`- ${lines.join('\n  ')}`))).rules).toHaveLength(1)
  })
})

describe('other documents, and the configurations of other programs', () => {
  const forwardAuth = (text: string): Record<string, unknown> =>
    (parseDocument(text) as { http: { middlewares: { sluice: { forwardAuth: Record<string, unknown> } } } }).http
      .middlewares.sluice.forwardAuth
  const checks: Record<string, (text: string) => void> = {
    // The names are those of Traefik 3:
    // https://doc.traefik.io/traefik/reference/routing-configuration/http/middlewares/forwardauth/
    traefik: (text) => {
      const { address, ...options } = forwardAuth(text)
      const { pathname, search } = new URL(String(address))
      expect(pathname + search).toBe('/v1/auth?headers=x-forwarded')
      expect(options).toEqual({ trustForwardHeader: false, authRequestHeaders: expect.any(Array) })
    },
    pipeline: (text) => void readPipeline(text),
    envoy: (text) => expect(importEnvoy([{ name: 'docs', text }]).warnings).toEqual([]),
  }

  it.each(others)('are well formed, and use addresses that the daemon has: $page, $owner', ({ owner, text }) => {
    expect(Object.keys(checks)).toContain(owner)
    checks[owner!]!(text)
  })
})
