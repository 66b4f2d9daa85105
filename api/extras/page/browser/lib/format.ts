/** Formats numbers and times. */
import { isUtc, zonedText } from './zone.ts'

const MAX_DECIMALS = 20

/** Decimals that give a price six significant digits. */
export function decimalsOf(price: number): number {
  if (!Number.isFinite(price) || price === 0) return 2
  return Math.min(MAX_DECIMALS, Math.max(2, 5 - Math.floor(Math.log10(Math.abs(price)))))
}

export function priceText(price: number, decimals: number): string {
  if (!Number.isFinite(price)) return '–'
  const text = price.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals })
  return text
}

/** 1,234.5; 12.3K; 1.23M. Tiny numbers by their first digits. */
export function amountText(value: number): string {
  const size = Math.abs(value)
  if (size === 0) return '0'
  if (size < 0.0001) return value.toExponential(2)
  if (size < 1) return value.toLocaleString('en', { maximumSignificantDigits: 4 })
  if (size < 100_000) return value.toLocaleString('en', { maximumFractionDigits: size < 1_000 ? 3 : 1 })
  return compact(value)
}

export function dollarText(value: number): string {
  if (value === 0) return '–'
  if (Math.abs(value) < 100_000)
    return `$${value.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`
  return `$${compact(value)}`
}

function compact(value: number): string {
  if (Math.abs(value) >= 1e15) return value.toExponential(2).replace('e+', 'e')
  return value.toLocaleString('en', { notation: 'compact', minimumFractionDigits: 2, maximumFractionDigits: 2 })
}

/** `+1.25%` of 0.0125. */
export function changeText(change: number): string {
  return `${change < 0 ? '−' : '+'}${Math.abs(change * 100).toFixed(2)}%`
}

/** Fees are in hundredths of a basis point. */
export function feeText(feeTier: string): string {
  return `${(Number(feeTier) / 10_000).toLocaleString('en', { maximumFractionDigits: 4 })}%`
}

export function shortId(id: string): string {
  return id.length <= 14 ? id : `${id.slice(0, 8)}…${id.slice(-6)}`
}

export function title(network: string): string {
  return network.slice(0, 1).toUpperCase() + network.slice(1)
}

/** `14:03:59` */
export function clockText(at: Date): string {
  return zonedText(at).slice(11, 19)
}

/** `2024-01-05 14:03`, with seconds where candles are shorter than a minute. */
export function timeText(seconds: number, interval = 1): string {
  const text = zonedText(new Date(seconds * 1_000)).replace('T', ' ')
  // A day of UTC begins at any hour of another zone.
  if (interval >= 86_400 && isUtc()) return text.slice(0, 10)
  return text.slice(0, interval >= 60 ? 16 : 19)
}
