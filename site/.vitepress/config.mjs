import { defineConfig } from 'vitepress'
import { home } from './home.mjs'
import { anchorOf, sections, siteLinks, sitePath } from './pages.mjs'
import { writePlainPages } from './plain.mjs'

const itemOf = ({ name, page }) => ({ text: name, link: `/${sitePath(page)}` })
/** Drawn here, so that no file has to be fetched for it. */
const icon =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><path fill='%233451b2' d='M1 3h14v3H1zm3 5h8v2H4zm2 4h4v2H6z'/></svg>"

/** The text of a page for the index of the search, which needs no colours in its code. */
function plain(source, env, markdown) {
  const { highlight } = markdown.options
  markdown.options.highlight = null
  try {
    return markdown.render(source, env)
  } finally {
    markdown.options.highlight = highlight
  }
}

export default defineConfig({
  title: 'Sluice',
  description: 'Flow control for TypeScript services',
  srcDir: '../docs',
  outDir: './dist',
  cacheDir: '../.cache/vitepress',
  head: [['link', { rel: 'icon', href: icon }]],
  rewrites: (page) => sitePath(page),
  markdown: {
    config: siteLinks,
    anchor: { slugify: anchorOf },
    languageAlias: { haproxy: 'nginx', caddy: 'nginx', promql: 'sql' },
  },
  themeConfig: {
    search: { provider: 'local', options: { _render: plain } },
    sidebar: sections.map(({ text, pages }, index) => ({ text, collapsed: index > 1, items: pages.map(itemOf) })),
    outline: [2, 3],
  },
  transformPageData: (page) => (page.relativePath === 'index.md' ? { frontmatter: home } : undefined),
  vite: { build: { chunkSizeWarningLimit: 4000 } }, // the index of the search
  buildEnd: writePlainPages,
})
