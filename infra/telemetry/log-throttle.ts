/** Limits repeated log lines to one in ten seconds, with a count of those that were suppressed. */

const QUIET_MS = 10_000
/** Texts that differ each time must not fill the memory. */
const MAX_TEXTS = 1_000

/** The number of equal lines suppressed since the last one; undefined where this one is suppressed too. */
export function openLogThrottle(): (text: string) => number | undefined {
  const known = new Map<string, { quietUntil: number; suppressed: number }>()
  return (text) => {
    const now = Date.now()
    const before = known.get(text)
    if (before && now < before.quietUntil) {
      before.suppressed += 1
      return undefined
    }
    if (known.size >= MAX_TEXTS) known.clear()
    known.set(text, { quietUntil: now + QUIET_MS, suppressed: 0 })
    return before?.suppressed ?? 0
  }
}
