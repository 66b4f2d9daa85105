/** The width of a candle in its written form: 45s, 7m, 4h, 1d. */

/** Whole seconds, 1 to 86400. */
export type IntervalSeconds = number

export const MAX_INTERVAL: IntervalSeconds = 86_400

export const INTERVAL_RULE = 'a whole number and a unit (s, m, h or d), at most 1d in all: 45s, 7m, 4h, 1d'

const INTERVAL = /^([1-9][0-9]{0,4})([smhd])$/
export const INTERVAL_PATTERN = INTERVAL.source

export const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** Undefined where the text is no interval, or longer than a day. */
export function parseInterval(text: string): IntervalSeconds | undefined {
  const match = INTERVAL.exec(text)
  const [, count, unit] = match ?? []
  if (count === undefined || unit === undefined) return undefined
  const seconds = Number(count) * (UNIT_SECONDS[unit] ?? 0)
  return seconds <= MAX_INTERVAL ? seconds : undefined
}

/** The start of the bucket that holds a second: buckets of every interval are counted from 1970. */
export function bucketOf(seconds: number, interval: number): number {
  return Math.floor(seconds / interval) * interval
}

/** The first bucket that starts at a second or after it. */
export function bucketFrom(seconds: number, interval: number): number {
  return Math.ceil(seconds / interval) * interval
}
