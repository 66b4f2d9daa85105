/** The windows in which credits are counted: minutes, and months from the calendar or from an account's billing start. */
import type { UnixSeconds } from '../../ingest/model/message.ts'

/** `start ≤ time < end` */
export type Period = { start: UnixSeconds; end: UnixSeconds }

export function minuteOf(now: UnixSeconds): Period {
  const start = Math.floor(now / 60) * 60
  return { start, end: start + 60 }
}

/**
 * The month that holds `now`. With a billing start, months begin on its day and minute of the day; a day that a month
 * does not have falls on that month's last, and comes back in the next that has it.
 */
export function monthOf(now: UnixSeconds, billingStart: UnixSeconds | undefined): Period {
  const anchor = billingStart === undefined ? 0 : minuteOf(billingStart).start
  const then = new Date(anchor * 1000)
  const date = new Date(now * 1000)
  const months = (date.getUTCFullYear() - then.getUTCFullYear()) * 12 + date.getUTCMonth() - then.getUTCMonth()
  const start = monthsAfter(anchor, months)
  if (start > now) return { start: monthsAfter(anchor, months - 1), end: start }
  return { start, end: monthsAfter(anchor, months + 1) }
}

function monthsAfter(anchor: UnixSeconds, months: number): UnixSeconds {
  const then = new Date(anchor * 1000)
  const year = then.getUTCFullYear()
  const month = then.getUTCMonth() + months
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  const day = Math.min(then.getUTCDate(), lastDay)
  return Date.UTC(year, month, day) / 1000 + (anchor - Math.floor(anchor / 86_400) * 86_400)
}
