// What programs read instead of pages: each page as Markdown beside it, and an index of them.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { allPages, docs, leadOf, sections, sitePath, titleOf } from './pages.mjs'

export function writePlainPages({ outDir }) {
  for (const page of allPages) {
    const file = join(outDir, sitePath(page))
    mkdirSync(dirname(file), { recursive: true })
    copyFileSync(join(docs, page), file)
  }
  const lists = sections.map(({ text, pages }) =>
    [`## ${text}`, '', ...pages.map(({ page }) => `- [${titleOf(page)}](/${sitePath(page)}): ${leadOf(page)}`)].join(
      '\n',
    ),
  )
  writeFileSync(
    join(outDir, 'llms.txt'),
    `# ${titleOf('README.md')}\n\n> ${leadOf('README.md')}\n\n${lists.join('\n\n')}\n`,
  )
}
