import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import type { Daemon } from '../../packages/server/src/serve.ts'
import { adminToken, startDaemon } from '../../packages/server/src/testing/started.ts'

/** The paths of Debian's and Homebrew's Chromium; SLUICE_CHROMIUM names another one. */
const places = ['/usr/bin/chromium', '/Applications/Chromium.app/Contents/MacOS/Chromium']

/** Chromium must not contact its vendor, and tests must not see each other's state. */
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** The widths that are tested: a phone and a desktop. */
export const widths = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 900 } } as const

let started: Promise<Browser> | undefined

/** The browser of all files that share this process, with which it ends; a test has contexts of its own in it. */
export function sharedBrowser(): Promise<Browser> {
  const executablePath = process.env.SLUICE_CHROMIUM ?? places.find((place) => existsSync(place))
  if (executablePath === undefined) throw new Error('there is no Chromium: run npm run setup')
  started ??= chromium.launch({ executablePath, args: flags })
  return started
}

/** Closes what a file has opened in the browser. */
export async function closeViews(): Promise<void> {
  const browser = await started
  await Promise.all(browser?.contexts().map((context) => context.close()) ?? [])
}

export interface ViewOptions {
  readonly width?: keyof typeof widths
  readonly theme?: 'light' | 'dark'
  /** The part of the address after `#`: `/rules/per-user`. */
  readonly view?: string
  /** False: the test signs in itself. */
  readonly signedIn?: boolean
}

/** A page of a daemon in a separate context, with a record of everything that must not happen. */
export interface View {
  readonly page: Page
  readonly context: BrowserContext
  /**
   * Requests to other hosts, errors in the console, and exceptions. Each test ends with
   * `expect(view.wrong).toEqual([])`.
   */
  readonly wrong: string[]
  close(): Promise<void>
}

/**
 * Opens the page of a daemon.
 *
 * @example
 * const daemon = await startDaemon({ policy: file })
 * const { page, wrong } = await openView(daemon, { view: '/rules', width: 'phone' })
 */
export async function openView(daemon: Daemon, options: ViewOptions = {}): Promise<View> {
  const { width = 'desktop', theme = 'light', view = '/', signedIn = true } = options
  const browser = await sharedBrowser()
  const context = await browser.newContext({ viewport: widths[width], colorScheme: theme, timezoneId: 'Europe/Berlin' })
  const page = await context.newPage()
  const wrong: string[] = []
  page.on('request', (request) => {
    if (!request.url().startsWith(`${daemon.url}/`)) wrong.push(`request to ${request.url()}`)
  })
  page.on('pageerror', (error) => wrong.push(`exception: ${error.message}`))
  page.on('console', (message) => {
    // The browser itself writes a failed request to the console; the test checks how the page handles it.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) wrong.push(message.text())
  })
  await page.goto(`${daemon.url}/#${view}`)
  if (signedIn) await signIn(page)
  return { page, context, wrong, close: () => context.close() }
}

/** Signs in as a person does, with the token. */
export async function signIn(page: Page, secret: string = adminToken): Promise<void> {
  await page.getByLabel('Code or admin token').fill(secret)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
}

const pictures = fileURLToPath(new URL('../../.cache/page/', import.meta.url))

/** With SLUICE_PICTURES=1, saves a picture of the whole page to .cache/page/, for review: `keys-phone-dark.png`. */
export async function picture(page: Page, name: string): Promise<string> {
  const path = join(pictures, `${name}.png`)
  if (process.env.SLUICE_PICTURES !== '1') return path
  mkdirSync(dirname(path), { recursive: true })
  await page.screenshot({ path, fullPage: true, animations: 'disabled' })
  return path
}

export { adminToken, startDaemon }
