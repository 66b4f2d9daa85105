/** What is said again and again while something is down: once, then how many times more. */

const QUIET_MS = 10_000
/** Texts that differ each time must not fill the memory. */
const MOST_KNOWN = 1_000

/** Tells how many alike were left unsaid before this one; undefined where this one is to be left unsaid, too. */
export function openRepeats(): (text: string) => number | undefined {
  const known = new Map<string, { quietUntil: number; unsaid: number }>()
  return (text) => {
    const now = Date.now()
    const before = known.get(text)
    if (before && now < before.quietUntil) {
      before.unsaid += 1
      return undefined
    }
    if (known.size >= MOST_KNOWN) known.clear()
    known.set(text, { quietUntil: now + QUIET_MS, unsaid: 0 })
    return before?.unsaid ?? 0
  }
}
