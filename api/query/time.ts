/** Points in time: parsing and formatting. */
import type { UnixSeconds } from '../../ingest/model/message.ts'

/** A second and the digits after it without trailing zeros: exact for any number of digits. */
export type Instant = { seconds: UnixSeconds; fraction: string }

export const TIME_RULE =
  'an RFC 3339 time such as 2024-01-05T00:00:00Z or 2024-01-05T01:00:00.5+01:00, or a date such as 2024-01-05'

const DATE = '(\\d{4})-(\\d{2})-(\\d{2})'
const CLOCK = '(\\d{2}):(\\d{2})(?::(\\d{2})(?:\\.(\\d+))?)?'
/** A raw `+` in a query string decodes to a space. */
const ZONE = '([zZ]|([+\\- ])(\\d{2}):?(\\d{2}))'
const TIME = new RegExp(`^${DATE}(?:[tT]${CLOCK}${ZONE}?)?$`)
export const TIME_PATTERN = TIME.source

/** Without a zone: UTC. Without seconds: the first second of the minute. A bare date: the first second of the day. Undefined for any other text. */
export function parseTime(text: string): Instant | undefined {
  const match = TIME.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone, sign, zoneHour, zoneMinute] =
    match
  const date = new Date(0)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  // Date would roll 30 February over to March.
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return undefined
  const offset =
    zone === undefined || sign === undefined ? 0 : offsetSeconds(sign, Number(zoneHour), Number(zoneMinute))
  if (offset === undefined) return undefined
  const seconds = date.getTime() / 1000 + Number(hour) * 3600 + Number(minute) * 60 + Number(second) - offset
  // A leap second ends a UTC day, and counts as the second after it.
  if (second === '60' && seconds % 86_400 !== 0) return undefined
  return { seconds, fraction: withoutTrailingZeros(fraction) }
}

/** Each run of zeros is tried once, at its start: without the look-behind a long one would be tried at each of its digits. */
function withoutTrailingZeros(digits: string): string {
  return digits.replace(/(?<!0)0+$/, '')
}

function offsetSeconds(sign: string, hours: number, minutes: number): number | undefined {
  if (hours > 23 || minutes > 59) return undefined
  return (sign === '-' ? -1 : 1) * (hours * 3600 + minutes * 60)
}

export function instantOf(date: Date): Instant {
  const milliseconds = date.getTime()
  const seconds = Math.floor(milliseconds / 1000)
  return {
    seconds,
    fraction: withoutTrailingZeros(String(milliseconds - seconds * 1000).padStart(3, '0')),
  }
}

/** Digits without trailing zeros compare as text exactly as the fractions do as numbers. */
export function isBefore(left: Instant, right: Instant): boolean {
  if (left.seconds !== right.seconds) return left.seconds < right.seconds
  return left.fraction < right.fraction
}

/** The first whole second at or after: block times are whole, so both ends of a half-open range round up. */
export function wholeSecond(instant: Instant): UnixSeconds {
  return instant.fraction === '' ? instant.seconds : instant.seconds + 1
}

/** `2024-01-05T00:00:00Z` */
export function formatTime(seconds: UnixSeconds): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, -5)}Z`
}
