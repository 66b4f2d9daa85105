/** Live blocks of the devnet: one every few seconds, with the wall-clock time. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { Chain } from './chain.ts'
import type { Traders } from './traders.ts'

export type LiveOptions = {
  /** The tip's timestamp. */
  after: UnixSeconds
  blockSeconds: number
  /** Spot prices of all markets, in their order. */
  spotPrices: () => Promise<readonly number[]>
  /** A block that the node refused; the next one is tried all the same. */
  onFailure: (error: unknown) => void
  signal: AbortSignal
}

/** Runs until the signal; a block that has been begun is finished. */
export async function mineLive(
  chain: Chain,
  traders: Traders,
  { after, blockSeconds, spotPrices, onFailure, signal }: LiveOptions,
) {
  const blockMs = blockSeconds * 1_000
  let previous = after
  while (!signal.aborted) {
    // On whole multiples of the block time, and past the ones that were slept through.
    const due = (Math.floor(Date.now() / blockMs) + 1) * blockMs
    await sleep(due - Date.now(), undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    const timestamp = Math.max(Math.floor(Date.now() / 1_000), previous + 1)
    try {
      await chain.mineBlock(traders.next(blockSeconds, await spotPrices()), timestamp)
      previous = timestamp
    } catch (error) {
      if (!signal.aborted) onFailure(error)
    }
  }
}
