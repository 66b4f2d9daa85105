/** A wait that takes longer hangs: a busy machine may be slow. Tests of planted faults wait in vain, so they are given less time. */
export const WAIT_MS = 1_000 * Number(process.env['WAIT_SECONDS'] ?? 240)

/** Resolves once `look` answers something else than undefined; throws after `timeoutMs`. */
export async function until<T>(look: () => Promise<T | undefined>, what: string, timeoutMs = WAIT_MS): Promise<T> {
  const giveUp = Date.now() + timeoutMs
  for (;;) {
    const seen = await look().catch((error: unknown) => {
      if (Date.now() > giveUp) throw error
      return undefined
    })
    if (seen !== undefined) return seen
    if (Date.now() > giveUp) throw new Error(`Waited ${timeoutMs / 1000} s in vain until ${what}.`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
