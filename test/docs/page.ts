import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root: string = join(import.meta.dirname, '..', '..')

/** One block of code of a page. `word` is what follows the language, such as `no-run`. */
export interface Block {
  readonly language: string
  readonly word: string | undefined
  readonly code: string
}

export function pagesIn(...folders: readonly string[]): string[] {
  const existing = folders.map((folder) => join('docs', folder)).filter((folder) => existsSync(join(root, folder)))
  const files = existing.flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(folder, name)))
  return files.filter((file) => file.endsWith('.md')).sort()
}

export const readPage = (page: string): string => readFileSync(join(root, page), 'utf8')

export const blocksOf = (page: string): Block[] =>
  [...readPage(page).matchAll(/^```(\w*)(?: ([\w-]+))?\n([\s\S]*?)^```/gm)].map(
    ([, language = '', word, code = '']) => ({ language, word, code }),
  )
