/// <reference lib="dom" />
/** Colours of the chart, which is a canvas: read from the style sheet, light or dark. */

export type Palette = Record<
  'text' | 'muted' | 'line' | 'grid' | 'label' | 'back' | 'up' | 'down' | 'upSoft' | 'downSoft' | 'onSide',
  string
>

export function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement)
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim()
  return {
    text: colour('text'),
    muted: colour('muted'),
    line: colour('line'),
    grid: colour('grid'),
    label: colour('label'),
    back: colour('panel'),
    up: colour('up'),
    down: colour('down'),
    upSoft: colour('up-soft'),
    downSoft: colour('down-soft'),
    onSide: colour('on-accent'),
  }
}

export function onPaletteChange(look: () => void): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', look)
}
