/** A local chain for runs without an endpoint: real Uniswap contracts on anvil, hours of history, and simulated traders. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Hash } from 'viem'
import type { Network } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { Exit } from '../lib/child.ts'
import { lockFolder } from '../lib/folder-lock.ts'
import type { DevnetFact } from './begin.ts'
import { type BeginOptions, continueChain, createChain, type DevnetChain } from './begin.ts'
import { openStateFolder, type StateFolder } from './chain/state-file.ts'
import { readSpotPrices } from './market/spot-price.ts'
import { devnetNetwork } from './network.ts'

export type DevnetOptions = {
  /** The chain is kept in a folder of its own in here. */
  dataDir: string
  /** Whole seconds between live blocks; 2 by default. */
  blockSeconds?: number
  /** How much has happened before the first start; 6 by default. */
  historyHours?: number
  /** The same seed makes the same trades in the history. */
  seed?: number
  report: Report<DevnetFact>
  /** Ends the start and the mining; the node is ended by `stop`. */
  signal: AbortSignal
}

export type Devnet = {
  httpUrl: string
  wsUrl: string
  network: Network
  /** Where it is another one than at the last start, all that was stored of the devnet belongs to a chain that is gone. */
  genesisHash: Hash
  /** Process id of the node. */
  pid: number
  /** Keeps the chain for the next start; takes less than three seconds. */
  stop(): Promise<void>
  /** Resolves when the node has ended; `expected` is true where `stop` ended it. */
  exited: Promise<Exit & { expected: boolean }>
}

const BLOCK_SECONDS = 2
const HISTORY_HOURS = 6
const SEED = 31337

/** Resolves when the history is there; live blocks follow from then on. */
export async function startDevnet(options: DevnetOptions): Promise<Devnet> {
  const { dataDir, blockSeconds = BLOCK_SECONDS, historyHours = HISTORY_HOURS, seed = SEED, report, signal } = options
  const begunAt = performance.now()
  const lock = await lockFolder(dataDir)
  const folder = await openStateFolder(dataDir)
  const begin = { historyHours, seed, report, signal }
  const begun = await continueOrBegin(folder, begin).catch(async (error: unknown) => {
    await lock.release()
    throw error
  })
  const { kind, anvil, deployment, markets, genesisHash, tip } = begun
  const { httpUrl, wsUrl, pid } = anvil
  report({ kind: 'devnet-started', chain: kind, httpUrl, tip: tip.number, tookMs: performance.now() - begunAt })

  const stopped = new AbortController()
  let expected = false
  const exited = anvil.exited.then((exit) => ({ ...exit, expected }))
  void exited.then(() => stopped.abort())
  const mining = mineLive(begun, blockSeconds, report, AbortSignal.any([stopped.signal, signal]))
  async function stop() {
    expected = true
    stopped.abort()
    await mining
    await anvil.stop()
    await lock.release()
  }
  return { httpUrl, wsUrl, network: devnetNetwork(deployment, markets), genesisHash, pid, stop, exited }
}

async function continueOrBegin(folder: StateFolder, options: BeginOptions): Promise<DevnetChain> {
  return (await continueChain(folder, options)) ?? (await createChain(folder, options))
}

/** One block every few seconds, with the wall-clock time, until the signal; a block that has been begun is finished. */
async function mineLive(
  { chain, traders, deployment, markets, tip }: DevnetChain,
  blockSeconds: number,
  report: Report<DevnetFact>,
  signal: AbortSignal,
): Promise<void> {
  const blockMs = blockSeconds * 1_000
  let previous = tip.timestamp
  while (!signal.aborted) {
    // On whole multiples of the block time, and past the ones that were slept through.
    const due = (Math.floor(Date.now() / blockMs) + 1) * blockMs
    await sleep(due - Date.now(), undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    const timestamp = Math.max(Math.floor(Date.now() / 1_000), previous + 1)
    try {
      const spots = await readSpotPrices(chain.rpc, deployment, markets)
      await chain.mineBlock(traders.next(blockSeconds, spots), timestamp)
      previous = timestamp
    } catch (error) {
      // The next one is tried all the same.
      if (!signal.aborted) report({ kind: 'devnet-block-failed', reason: String(error) })
    }
  }
}
