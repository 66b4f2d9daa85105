/** Time limits on work that can't be cancelled: its late result is ignored. */

/** Rejects with `late()` where `work` is not settled after `ms`. */
export async function withTimeout<T>(
  work: Promise<T>,
  ms: number,
  late: () => Error = () => new Error(`It took longer than ${ms / 1000} s.`),
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms)
  })
  // The loser of the race must not count as an unhandled rejection.
  work.catch(() => undefined)
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer))
}

/** Resolves once `work` is settled either way, or after `ms`: for cleaning up over a connection that may be lost. */
export async function settledWithin(ms: number, work: Promise<unknown>): Promise<void> {
  await withTimeout(work, ms).catch(() => undefined)
}
