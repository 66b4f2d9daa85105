/** Measures the page: no part lies over another, and each can be scrolled to. */
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

export const SIZES = [
  [360, 640],
  [390, 844],
  [768, 1_024],
  [1_280, 720],
  [1_280, 800],
  [1_366, 768],
  [1_440, 900],
  [1_920, 1_080],
  [2_560, 1_440],
] as const

/** From this width on, all is in one view while the sections are closed. */
const DESK = 1_280

/** At every size, with the sections under the chart closed and open. `isCovered`: a list is open over the page, so that what is below it is not reached. */
export async function fitsEverySize(page: Page, state: string, isCovered = false): Promise<void> {
  for (const [width, height] of SIZES) {
    await page.setViewportSize({ width, height })
    for (const isOpen of isCovered ? [false] : [false, true]) {
      await page.evaluate(openSections, isOpen)
      const name = `${state}, ${width}x${height}, sections ${isOpen ? 'open' : 'closed'}`
      expect(await page.evaluate(collisions), name).toEqual([])
      const scrolls = await page.evaluate(() => document.documentElement.scrollHeight - innerHeight)
      if (width >= DESK && !isOpen) expect(scrolls, `${name}: scrolls`).toBe(0)
      if (!isCovered) expect(await page.evaluate(unreachable), name).toEqual([])
    }
  }
}

/** Then the page has its size: the chart follows with the next frame. */
async function openSections(isOpen: boolean): Promise<void> {
  for (const section of document.querySelectorAll('details')) section.open = isOpen
  for (let frames = 0; frames < 3; frames += 1) await new Promise((resolve) => requestAnimationFrame(resolve))
}

/** Visible parts that overlap, spill out of their box, or reach beyond the page. */
export function collisions(): string[] {
  const PARTS =
    '.brand, #pair, #pools, #credits, #state, #leave, #full, #devnet, #notice, #key-form, #facts > *, .tools > *, #refused, #legend, #pending, .stage, .rows, .tape > *, footer > *'
  const nameOf = (part: Element) => part.id || part.textContent?.trim().slice(0, 20) || part.className
  const parts = [...document.querySelectorAll<HTMLElement>(PARTS)]
    .map((part) => ({ part, box: part.getBoundingClientRect() }))
    .filter(({ part, box }) => box.width > 1 && box.height > 1 && part.checkVisibility())
  const page = document.documentElement
  const found: string[] = []
  for (const [at, { part, box }] of parts.entries()) {
    for (const other of parts.slice(at + 1)) {
      const wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left)
      const high = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top)
      if (wide > 1 && high > 1) found.push(`${nameOf(part)} overlaps ${nameOf(other.part)} by ${Math.round(high)} px`)
    }
    // A list or an error opens over the page.
    const opens = part.querySelector('.error:not(:empty)') !== null
    const isShown = getComputedStyle(part).overflowY === 'visible' && !opens
    if (isShown && part.scrollHeight > part.clientHeight + 1 && part.clientHeight > 0)
      found.push(`${nameOf(part)} is ${part.scrollHeight - part.clientHeight} px higher than its box`)
    if (box.left < 0 || box.right > innerWidth + 0.5) found.push(`${nameOf(part)} is wider than the screen`)
    if (box.bottom + scrollY > page.scrollHeight + 1) found.push(`${nameOf(part)} ends below the page`)
  }
  const foot = document.querySelector('footer')?.getBoundingClientRect()
  const below = page.scrollHeight - Math.round((foot?.bottom ?? 0) + scrollY)
  return below === 0 ? found : [...found, `${below} px lie below the foot`]
}

/** Parts whose top or bottom is not seen after scrolling to it. */
function unreachable(): string[] {
  const PARTS =
    '.top, .head, #devnet, #notice, #key-form, .facts, .tools, #legend, .stage, .rows, .tape, .tape .scroll, footer'
  const found: string[] = []
  for (const part of document.querySelectorAll(PARTS)) {
    if (!part.checkVisibility() || part.getBoundingClientRect().height < 2) continue
    for (const block of ['start', 'end'] as const) {
      part.scrollIntoView({ block })
      const { left, width, top, bottom } = part.getBoundingClientRect()
      const hit = document.elementFromPoint(left + width / 2, block === 'start' ? top + 1 : bottom - 1)
      if (hit === null || !(part.contains(hit) || hit.contains(part)))
        found.push(`the ${block} of ${part.id || part.className || part.tagName} is not seen`)
    }
  }
  scrollTo(0, 0)
  return found
}
