/** Reads the page's content as a reader does. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { until } from '../../../support/until.ts'
import type { Watched } from './browser.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export const isLive = (page: Page) => page.getByText('Live', { exact: true }).waitFor()
export const price = (page: Page) => page.locator('#facts .price').textContent()
export const newestTrade = (page: Page) => page.locator('#ticks tr').first().locator('td').allTextContents()

/** The first amount of a text, such as `1,234.5` or `Buys 123.46K`. */
export function amountOf(text = ''): number {
  const [, digits = '', unit = ''] = /([\d.,]+)([KM]?)/.exec(text) ?? []
  return Number(digits.replaceAll(',', '')) * (UNITS[unit] ?? 1)
}

const UNITS: Readonly<Record<string, number>> = { K: 1e3, M: 1e6 }

/** The requests for streams so far. */
export const streamsOf = ({ requests }: Pick<Watched, 'requests'>) =>
  requests.filter((it) => it.headers()['accept'] === 'text/event-stream')

/** Waits until the page has polled nothing for longer than its pause between requests: its streams have sent their first rows. */
export const untilPolledNoMore = (
  { page, questions }: Pick<Watched, 'page' | 'questions'>,
  isPoll = (_: URL) => true,
) =>
  until(async () => {
    questions()
    await page.waitForTimeout(2_000)
    return questions().some(isPoll) ? undefined : true
  }, 'the page polls no more')

/** The first question that `act` makes the page ask, of these words. */
export async function asked(
  tab: Watched,
  words: string | RegExp,
  act: () => Promise<unknown>,
): Promise<URLSearchParams> {
  const [request] = await Promise.all([tab.page.waitForRequest((it) => it.url().search(words) >= 0), act()])
  return new URL(request.url()).searchParams
}

export async function accessible(page: Page): Promise<void> {
  await page.evaluate(AXE)
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: typeof import('axe-core') }
    const { violations } = await axe.run({ rules: { 'target-size': { enabled: true } } })
    return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  })
  expect(found).toEqual([])
}
