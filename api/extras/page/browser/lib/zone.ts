/// <reference lib="dom" />
/** The time zone of the page: UTC, or the browser's if the reader has chosen it. */

const STORED = 'times'
let isLocal = false

/** Calls `onChange` where the reader changes it. */
export function openZone(button: HTMLButtonElement, onChange: () => void): void {
  isLocal = localStorage.getItem(STORED) === 'local'
  const show = () => {
    button.textContent = isLocal ? `Times are local (${zoneName(new Date())})` : 'Times are UTC'
  }
  show()
  button.addEventListener('click', () => {
    isLocal = !isLocal
    if (isLocal) localStorage.setItem(STORED, 'local')
    else localStorage.removeItem(STORED)
    show()
    onChange()
  })
}

export function isUtc(): boolean {
  return !isLocal
}

/** `UTC`, `UTC+1`, `UTC−3:30`: the zone's at that time. */
export function zoneName(at: Date): string {
  const minutes = isLocal ? -at.getTimezoneOffset() : 0
  if (minutes === 0) return 'UTC'
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
  return `UTC${minutes < 0 ? '−' : '+'}${hours}${rest === 0 ? '' : `:${String(rest).padStart(2, '0')}`}`
}

/** ISO text with the zone's digits; its `Z` means nothing. */
export function zonedText(at: Date): string {
  return (isLocal ? new Date(at.getTime() - at.getTimezoneOffset() * 60_000) : at).toISOString()
}
