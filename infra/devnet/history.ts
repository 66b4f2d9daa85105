/** The hours before the devnet was started, as if it had always been there. */
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { Chain } from './chain.ts'
import type { Traders } from './traders.ts'

export type HistoryOptions = {
  from: UnixSeconds
  blocks: number
  /** Mainnet's twelve, so that hours fit into seconds of mining. */
  blockSeconds: number
  onBlock?: (done: number) => void
  signal: AbortSignal
}

export async function mineHistory(chain: Chain, traders: Traders, options: HistoryOptions): Promise<void> {
  const { from, blocks, blockSeconds, onBlock, signal } = options
  for (let index = 0; index < blocks; index += 1) {
    signal.throwIfAborted()
    await chain.mineBlock(traders.next(blockSeconds), from + index * blockSeconds)
    onBlock?.(index + 1)
  }
}
