import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], { cwd: root })
const pages = listed
  .toString()
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(root, file)))

/** The npm scripts that a page may name: those of the repository, and those of its own folder, as in the examples. */
const scriptsFor = (page: string): Record<string, string> => {
  const manifests = [join(root, 'package.json'), join(root, dirname(page), 'package.json')].filter(existsSync)
  const read = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as { scripts?: Record<string, string> }
  return Object.assign({}, ...manifests.map((file) => read(file).scripts))
}

/** The anchor of a heading on the usual hosts. */
const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

const withoutCode = (text: string): string => text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '')

describe.each(pages)('%s', (page) => {
  const text = readFileSync(join(root, page), 'utf8')

  it('has no broken links', () => {
    const links = [...withoutCode(text).matchAll(/\]\(([^)\s]+)[^)]*\)/g)].map((match) => match[1] ?? '')
    const broken = links.filter((link) => {
      if (/^[a-z]+:/.test(link)) return false
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? join(root, page) : join(root, dirname(page), path)
      if (!existsSync(target)) return true
      if (anchor === undefined || !target.endsWith('.md')) return false
      const headings = readFileSync(target, 'utf8').matchAll(/^#+ (.*)$/gm)
      return ![...headings].some((match) => anchorOf(match[1] ?? '') === anchor)
    })
    expect(broken).toEqual([])
  })

  it('names only npm scripts that exist', () => {
    const named = [...text.matchAll(/npm run (?:--\S+ )?([\w:-]+)/g)].map((match) => match[1] ?? '')
    const scripts = scriptsFor(page)
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([])
  })
})
