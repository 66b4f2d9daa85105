/** A wait that ends: what is late counts as failed. */

/** Rejects after `ms`; whatever the work comes to then is ignored. */
export async function withTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It took longer than ${ms / 1000} s.`)), ms)
  })
  // The loser of the race must not count as unhandled.
  work.catch(() => undefined)
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
