/**
 * One state of the page in every appearance: light and dark, on a desk and on a phone. `APPEARANCES=4` asks for all four, as `SOAK=1` does;
 * in the check states take turns.
 */
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { sample } from '../../../support/sample.ts'
import { shot } from './browser.ts'
import { collisions } from './layout.ts'
import { accessible } from './reading.ts'

const DESK = { width: 1360, height: 820 }
const PHONE = { width: 390, height: 844 }
const ALL = [
  { name: 'phone', size: PHONE, colorScheme: 'light' },
  { name: 'dark', size: DESK, colorScheme: 'dark' },
  { name: 'phone-dark', size: PHONE, colorScheme: 'dark' },
  { name: 'light', size: DESK, colorScheme: 'light' },
] as const
/** As a tab opens. */
const [, , , OPENED] = ALL
const APPEARANCES = sample('APPEARANCES', 1, 4)
let turn = 0

/** In the tab that has reached the state, since the page follows the screen. Leaves it as it opened. */
export async function inEveryAppearance(page: Page, state: string): Promise<void> {
  for (let count = 0; count < APPEARANCES; count++) {
    const { name, size, colorScheme } = ALL[turn++ % ALL.length] ?? OPENED
    await show(page, { size, colorScheme })
    await shot(page, `${state}-${name}`)
    await accessible(page)
    expect(await page.evaluate(cutTexts), `${state} ${name}`).toEqual([])
    expect(await page.evaluate(misplaced), `${state} ${name}`).toEqual([])
    expect(await page.evaluate(collisions), `${state} ${name}`).toEqual([])
    if (size === PHONE) expect(await page.evaluate(smallTargets), `${state} ${name}`).toEqual([])
  }
  await show(page, OPENED)
}

async function show(page: Page, { size, colorScheme }: Pick<(typeof ALL)[number], 'size' | 'colorScheme'>) {
  await page.setViewportSize(size)
  await page.emulateMedia({ colorScheme })
  // The chart takes its size and colours with the next frame.
  await page.evaluate(async () => {
    for (let frames = 0; frames < 3; frames += 1) await new Promise((resolve) => requestAnimationFrame(resolve))
  })
}

/** The bar of a desk is one row whatever the state says, with the widest text of each part. */
export async function oneRowOnDesks(page: Page): Promise<void> {
  for (const width of [900, 1024, 1279, 1280, 1360, 1920]) {
    await page.setViewportSize({ width, height: DESK.height })
    const wrong = await page.evaluate(() => {
      const state = document.querySelector('#state')
      const before = state?.textContent ?? ''
      if (state) state.textContent = 'Waiting until 2026-08-28 00:00:00 UTC'
      const shown = [...document.querySelectorAll('.top > :not([hidden]), .account > :not([hidden])')]
      const boxes = shown.map((it) => it.getBoundingClientRect())
      const height = document.querySelector('.top')?.getBoundingClientRect().height ?? 0
      const narrow = document.querySelector('#pools')?.getBoundingClientRect().width ?? 0
      const right = Math.max(...boxes.map((box) => box.right))
      if (state) state.textContent = before
      return { rows: height > 60 ? 2 : 1, cut: right > innerWidth, narrow: narrow < 60 }
    })
    expect(wrong, `${width} px`).toEqual({ rows: 1, cut: false, narrow: false })
  }
}

/** Texts wider than the screen, or than their box without a scroll bar. */
function cutTexts(): string[] {
  const isSeen = (box: DOMRect) => box.width > 1 && box.height > 1
  const wide = document.documentElement.scrollWidth - innerWidth
  const cut = [...document.querySelectorAll<HTMLElement>('p, dd, dt, button, summary, label, h1, h2, .legend *')]
    .filter((it) => it.closest('.scroll, #pairs') === null && isSeen(it.getBoundingClientRect()))
    .filter((it) => {
      const { left, right } = it.getBoundingClientRect()
      return left < 0 || right > innerWidth || it.scrollWidth > it.clientWidth + 1
    })
    .filter((it) => getComputedStyle(it).display !== 'inline')
    .map((it) => `cut: ${it.textContent}`)
  return wide === 0 ? cut : [`${wide} px wider than the screen`, ...cut]
}

/** Touch targets lower or narrower than 24 px. */
function smallTargets(): string[] {
  return [...document.querySelectorAll('a[href], button, input, select, summary, [role=option]')]
    .map((it) => ({ it, box: it.getBoundingClientRect() }))
    .filter(({ box }) => box.width > 1 && (box.width < 24 || box.height < 24))
    .map(({ it, box }) => `${Math.round(box.width)} x ${Math.round(box.height)} px: ${it.outerHTML}`)
}

/** A notice over the candles, and a state that needs a row of its own, so that all below it jumps. */
function misplaced(): string[] {
  const box = (id: string) => document.querySelector(id)?.getBoundingClientRect() ?? new DOMRect()
  const [pending, chart, state, brand] = [box('#pending'), box('#chart'), box('#state'), box('.brand')]
  const found = pending.height > 0 && pending.bottom > chart.top ? ['the notice lies over the chart'] : []
  return state.height > 0 && state.top > brand.bottom ? [...found, 'the state has a row of its own'] : found
}
