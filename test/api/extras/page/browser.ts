/** Debian's Chromium without a window, and a record of everything that a page should not do. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page, type Request } from 'playwright-core'
import { WAIT_MS } from '../../../support/until.ts'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Undefined where there is none and it can't be had, which is said once a test file. */
export const chromiumPath: string | undefined = findChromium()

function findChromium(): string | undefined {
  const found = () => PLACES.find((path) => existsSync(path))
  if (found() !== undefined) return found()
  try {
    if (process.getuid?.() !== 0) throw new Error('only root can install it')
    // Other test files may be at it as well: apt-get's own time limit does not cover the lock of `update`.
    const install = 'apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium'
    const args = [join(tmpdir(), 'candlepool-chromium.lock'), 'sh', '-c', `command -v chromium || { ${install}; }`]
    execFileSync('flock', args, { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
  } catch (error) {
    const [reason] = String(error instanceof Error ? error.message : error).split('\n')
    console.log(`Chromium: none (${reason}). The tests of the page are skipped; apt-get install chromium brings it.`)
  }
  return found()
}

export type Watched = {
  page: Page
  context: BrowserContext
  requests: Request[]
  /** Console errors, violations of the policy, and exceptions. */
  complaints: string[]
  /** The questions asked since the last call, without `/v0/usage` and the lists of pools. */
  questions(): URL[]
}

export function launch(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error('There is no Chromium.')
  return chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] })
}

export type Screen = {
  width?: number
  height?: number
  dark?: boolean
  /** The service's, where it is not that of this machine: the page's clock then runs beside it. */
  clock?: () => Date
  timezone?: string
}

export async function openTab(
  browser: Browser,
  { width = 1360, height = 820, dark = false, clock, timezone = 'UTC' }: Screen = {},
): Promise<Watched> {
  const viewport = { width, height }
  const context = await browser.newContext({ viewport, colorScheme: dark ? 'dark' : 'light', timezoneId: timezone })
  context.setDefaultTimeout(WAIT_MS)
  const page = await context.newPage()
  const requests: Request[] = []
  const complaints: string[] = []
  let seen = 0
  const offset = clock === undefined ? 0 : clock().getTime() - Date.now()
  await page.addInitScript((milliseconds) => {
    const now = Date.now
    Date.now = () => now() + milliseconds
  }, offset)
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
    )
  })
  page.on('request', (request) => requests.push(request))
  page.on('console', (message) => {
    // The browser itself writes a line about every answer that is no success.
    const isAnswer = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isAnswer) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  return {
    page,
    context,
    requests,
    complaints,
    questions() {
      const fresh = requests.slice(seen)
      seen = requests.length
      return fresh
        .map((request) => new URL(request.url()))
        .filter(({ pathname }) => /^\/v0\/(?!usage$|pools\/)/.test(pathname))
    },
  }
}

/** Where `SHOTS` names a folder, what the page looks like is written there to be looked at. */
export async function shot(page: Page, name: string): Promise<void> {
  const folder = process.env['SHOTS']
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png` })
}
