/** The volume bars of the chart, measured by the pixels of its canvas. */
import type { Page } from 'playwright-core'

/** The middle of the highest bar that has a bought and a sold part of at least 8 pixels each. */
export async function tallBar(page: Page): Promise<{ x: number; y: number }> {
  const { bars, left, top } = await page.evaluate(chartNow)
  const both = bars.filter(({ bought, sold }) => bought >= 8 && sold >= 8)
  const height = Math.max(...both.map(({ bought, sold }) => bought + sold))
  const [first, ...more] = both.filter(({ bought, sold }) => bought + sold === height)
  if (first === undefined) throw new Error('No bar has both parts.')
  const width = 1 + more.filter(({ x, bought }, at) => x === first.x + at + 1 && bought === first.bought).length
  return { x: left + first.x + Math.floor(width / 2), y: top + 100 }
}

/** The bar at a place, in pixels, with the legend of the same time. */
export async function barAt(page: Page, x: number): Promise<{ legend: string; bought: number; sold: number }> {
  const { legend, bars, left } = await page.evaluate(chartNow)
  return { legend, ...(bars.find((bar) => left + bar.x === x) ?? { bought: 0, sold: 0 }) }
}

/** Each column of pixels that has colours of volume bars. */
async function chartNow() {
  // The chart takes its colours with the next frame.
  for (let frames = 0; frames < 3; frames += 1) await new Promise((resolve) => requestAnimationFrame(resolve))
  const [canvas] = [...document.querySelectorAll<HTMLCanvasElement>('#chart canvas')].toSorted(
    (one, other) => other.width * other.height - one.width * one.height,
  )
  if (canvas === undefined) throw new Error('The chart has no canvas.')
  const { data } = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height) ?? { data: [] }
  const style = getComputedStyle(document.documentElement)
  const colour = (name: string) => Number.parseInt(style.getPropertyValue(name).trim().slice(1), 16)
  const [buys, sells] = [colour('--up-soft'), colour('--down-soft')]
  const bars = Array.from({ length: canvas.width }, (_, x) => {
    const bar = { x, bought: 0, sold: 0 }
    for (let y = 0; y < canvas.height; y += 1) {
      const at = (y * canvas.width + x) * 4
      const pixel = (data[at] ?? 0) * 65_536 + (data[at + 1] ?? 0) * 256 + (data[at + 2] ?? 0)
      if (pixel === buys) bar.bought += 1
      if (pixel === sells) bar.sold += 1
    }
    return bar
  })
  const { left, top } = canvas.getBoundingClientRect()
  return { legend: document.querySelector('#legend')?.textContent ?? '', bars, left, top }
}
