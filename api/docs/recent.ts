/** Examples were recorded on one day; their times are shown as if that had been yesterday. */

const TIME = /\b(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})/g
const DAY_MS = 86_400_000

/** The day that the examples are of. */
export const RECORDED = '2024-01-05'

export function recent(text: string, now: Date): string {
  const yesterday = Math.floor(now.getTime() / DAY_MS) - 1
  const days = yesterday - Date.parse(RECORDED) / DAY_MS
  return text.replace(TIME, (_, date: string, time: string) => {
    const isMonthStart = date.endsWith('-01') && time === '00:00'
    const day = isMonthStart ? nextMonth(yesterday) : Date.parse(date) + days * DAY_MS
    return `${new Date(day).toISOString().slice(0, 10)}T${time}`
  })
}

/** Credits come back with a month, not with a day. */
function nextMonth(day: number): number {
  const at = new Date(day * DAY_MS)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1)
}
