import { parseSync } from 'oxc-parser'
import { describe, expect, it } from 'vitest'
import { blocksOf, pagesIn, readPage } from './page.ts'
import { measureProse } from './prose.ts'

/** The most words of a page, by its folder. */
const limits = { start: 400, 'how-to': 800, 'coming-from': 800, operate: 1300, why: 1200, systems: 800 }

/** Languages that have a check of their own here, in `docs-policies.test.ts` or in `scripts/docs-code.mjs`. */
const checked = ['ts', 'js', 'json', 'yaml', 'sh', 'text']
/** Configuration of other programs: there is nothing here that reads it. */
const foreign = ['nginx', 'caddy', 'haproxy', 'sql', 'http', 'lua', 'dockerfile', 'ini', 'promql', 'kusto']

describe.each(Object.entries(limits))('pages of %s', (folder, most) => {
  describe.each(pagesIn(folder))('%s', (page) => {
    const { words, average, longest } = measureProse(readPage(page))

    it(`has at most ${most} words`, () => expect(words).toBeLessThanOrEqual(most))
    it('has sentences of at most 15 words on average', () => expect(average).toBeLessThanOrEqual(15))
    it('has no sentence of more than 35 words', () => expect(longest.words, longest.text).toBeLessThanOrEqual(35))

    it('says what it is for before it shows anything, and shows it soon', () => {
      const [, title, lead = ''] = /^# (.+)\n\n([\s\S]*?)^(?:```|\|)/m.exec(readPage(page)) ?? []
      expect(title).toBeDefined()
      expect(measureProse(lead).words).toBeGreaterThan(5)
      expect(measureProse(lead).words).toBeLessThanOrEqual(120)
    })
  })
})

/** The pages beside the folders, which explain a part in depth, may be of any length. */
describe.each(pagesIn('.'))('%s', (page) => {
  const { average, longest } = measureProse(readPage(page))

  it('has sentences of at most 15 words on average', () => expect(average).toBeLessThanOrEqual(15))
  it('has no sentence of more than 35 words', () => expect(longest.words, longest.text).toBeLessThanOrEqual(35))
})

describe.each(pagesIn('start', 'how-to', 'coming-from', 'operate', 'why', 'systems'))('the blocks of %s', (page) => {
  const blocks = blocksOf(page)

  it('are in languages that are known', () => {
    expect(blocks.map(({ language }) => language).filter((each) => ![...checked, ...foreign].includes(each))).toEqual(
      [],
    )
  })

  it('are well formed', () => {
    for (const { code } of blocks.filter(({ language }) => language === 'json')) JSON.parse(code)
    for (const { code } of blocks.filter(({ language }) => language === 'js'))
      expect(parseSync('block.js', code).errors).toEqual([])
  })
})

it.each(pagesIn('reference'))('%s has no bar in a table that is escaped twice, and shows its backslash', (page) => {
  expect(readPage(page)).not.toContain(String.raw`\\|`)
})

describe('the measure of prose', () => {
  it('counts words of text, points and cells, and none of code', () => {
    const text =
      '# Title\n\nOne two three. Four `a b c` six.\n\n- seven eight\n\n| a | b |\n|---|---|\n| c d | e |\n\n```ts\nx\n```\n'
    expect(measureProse(text)).toEqual({ words: 13, average: 3, longest: { words: 3, text: 'One two three.' } })
  })
})
