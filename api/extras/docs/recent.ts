/** Examples were recorded at the end of one day; their times are shown as if that had been the last full hour, so that their requests find rows soon after a first start. */

const TIME = /\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/g
const HOUR_MS = 3_600_000

/** The day that the examples are of. */
export const RECORDED = '2024-01-05'
const RECORDED_AT = Date.parse('2024-01-06T00:00Z')

export function recent(text: string, now: Date): string {
  const hour = lastHour(now)
  return text.replace(TIME, (time) => {
    const at = time.endsWith('-01T00:00') ? nextMonth(hour) : Date.parse(`${time}Z`) + hour - RECORDED_AT
    return new Date(at).toISOString().slice(0, time.length)
  })
}

/** The last full hour, in milliseconds. */
export function lastHour(now: Date): number {
  return Math.floor(now.getTime() / HOUR_MS) * HOUR_MS
}

/** Credits come back with a month, not with an hour. */
function nextMonth(milliseconds: number): number {
  const at = new Date(milliseconds)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1)
}
