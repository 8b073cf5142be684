import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** What axe-core finds serious or critical, as text: `expect(await seriousFindings(page)).toEqual([])`. */
export async function seriousFindings(page: Page): Promise<string[]> {
  // Evaluated by the debugger, to which the content security policy does not apply.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source)
  const { violations } = await page.evaluate(() =>
    (window as unknown as { axe: typeof axe }).axe.run(document, { resultTypes: ['violations'] }),
  )
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ''}`))
}

/** The widest element that makes the page scroll sideways, which it never should, or undefined. */
export function sidewaysScroll(page: Page): Promise<string | undefined> {
  return page.evaluate(() => {
    const { clientWidth, scrollWidth } = document.documentElement
    if (scrollWidth <= clientWidth) return undefined
    const wide = [...document.querySelectorAll('body *')].filter(
      (element) => element.getBoundingClientRect().right > clientWidth + 1,
    )
    return `${scrollWidth} > ${clientWidth}: ${wide.at(-1)?.outerHTML.slice(0, 200)}`
  })
}
