// The pages of the site, from the Markdown in `docs/`: in which section each one is, and how it is called.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))
export const docs = join(root, 'docs')

/** Where files that are no pages are linked to, such as https://github.com/<owner>/<name>; without it they are named. */
const repository = process.env.SLUICE_REPOSITORY

const read = (page) => readFileSync(join(docs, page), 'utf8')

/** The path of a page below `docs/` as a path of the site: a README is the index of its folder. */
export const sitePath = (page) => page.replace(/(^|\/)README\.md$/, '$1index.md')

export const titleOf = (page) => /^# (.+)$/m.exec(read(page))?.[1] ?? basename(page, '.md')

/** The anchor of a heading as the usual hosts of Markdown make it, so that one link works there and here. */
export const anchorOf = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/** The first paragraph of a page, in one line, without its links. */
export const leadOf = (page) =>
  read(page)
    .split(/\n\n/)
    .find((block) => /^[A-Z`*[]/.test(block))
    ?.replace(/\s+/g, ' ')
    .replace(/\[([^\]]+)\]\([^)]*\)/g, '$1') ?? ''

const listed = readFileSync(join(docs, 'README.md'), 'utf8')

/** Sections with their pages, in the order of the docs' own index. What the index leaves out is not in the menu. */
export const sections = listed
  .split(/^## /m)
  .slice(1)
  .map((text) => ({
    text: text.split('\n', 1)[0],
    pages: [...text.matchAll(/^- \[([^\]]+)\]\(([^)#]+\.md)\)/gm)].map(([, name, page]) => ({ name, page })),
  }))
  .filter(({ pages }) => pages.length > 0)

export const allPages = readdirSync(docs, { recursive: true }).filter((name) => name.endsWith('.md'))

function unlink(...ends) {
  for (const end of ends) Object.assign(end, { type: 'text', tag: '', nesting: 0, content: '' })
}

/** Changes links from one Markdown file to another into links of the site, and links to other files into the repository. */
export function siteLinks(markdown) {
  markdown.core.ruler.push('site-links', ({ tokens, env }) => {
    const page = relative(docs, env.realPath ?? env.path)
    const all = tokens.flatMap(({ children }) => children ?? [])
    for (const [at, token] of all.entries()) {
      const href = token.type === 'link_open' ? token.attrGet('href') : undefined
      if (!href || /^([a-z]+:|#|\/)/.test(href)) continue
      const [target, hash] = href.split('#')
      const file = join(dirname(page), decodeURI(target))
      const anchor = hash === undefined ? '' : `#${hash}`
      if (!existsSync(join(docs, file))) throw new Error(`docs/${page} links to ${href}, which does not exist`)
      if (file.endsWith('.md') && !file.startsWith('..')) token.attrSet('href', `/${sitePath(file)}${anchor}`)
      else if (repository) token.attrSet('href', `${repository}/blob/main/${join('docs', file)}${anchor}`)
      else
        unlink(
          token,
          all.slice(at).find(({ type }) => type === 'link_close'),
        )
    }
  })
}
