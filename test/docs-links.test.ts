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
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }

/** The anchor a heading gets on the usual hosts. */
const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

const withoutCode = (text: string): string => text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '')

describe.each(pages)('%s', (page) => {
  const text = readFileSync(join(root, page), 'utf8')

  it('links only to what is there', () => {
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
    expect(named.filter((name) => !(name in scripts))).toEqual([])
  })
})
