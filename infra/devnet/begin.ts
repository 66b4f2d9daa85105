/** Opens the devnet's chain: continued from the last run, or created with contracts, pools and a history. */
import { type Hash, type Hex, keccak256, toHex } from 'viem'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { Report } from '../../ingest/model/report.ts'
import { type Anvil, AnvilEnded, startAnvil } from './chain/anvil.ts'
import { type Chain, openChain } from './chain/chain.ts'
import {
  recordNodePid,
  removeDump,
  removeState,
  restoreState,
  type StateFolder,
  type StateLabel,
  writeLabel,
} from './chain/state-file.ts'
import { readBytecode } from './contracts/compile.ts'
import { type DevContracts, deployContracts, deploymentOf } from './contracts/deploy.ts'
import { TOKEN_PLANS } from './contracts/token.ts'
import type { DevMarket } from './market/market.ts'
import { marketsOf, openMarkets } from './market/open-markets.ts'
import { FIRST_PRICES, MARKET_PLANS } from './market/plan.ts'
import { readUsdPrices } from './market/spot-price.ts'
import { type Traders, tradersOf } from './market/traders.ts'

/** Facts that a devnet reports. */
export type DevnetFact =
  | { kind: 'devnet-begins'; historyHours: number }
  | { kind: 'devnet-deployed'; contracts: number; pools: number }
  | { kind: 'devnet-history'; blocks: number; of: number }
  | { kind: 'devnet-started'; chain: 'new' | 'continued'; httpUrl: string; tip: number; tookMs: number }
  /** The chain of the last run can't be continued, so a new one is begun. */
  | { kind: 'devnet-state-unusable'; reason: string }
  | { kind: 'devnet-block-failed'; reason: string }

export type DevnetChain = {
  kind: 'new' | 'continued'
  anvil: Anvil
  chain: Chain
  deployment: DevContracts
  markets: readonly DevMarket[]
  traders: Traders
  genesisHash: Hash
  tip: { number: number; timestamp: UnixSeconds }
}

type ChainEnds = Pick<DevnetChain, 'genesisHash' | 'tip'> & { label: StateLabel }

export type BeginOptions = {
  historyHours: number
  seed: number
  report: Report<DevnetFact>
  signal: AbortSignal
}

/** Mainnet's twelve, so that hours fit into seconds of mining. */
const HISTORY_BLOCK_SECONDS = 12
const PROGRESS_BLOCKS = 300
/** Genesis, contracts, pools, liquidity. */
const SETUP_SECONDS = 4
const NODE = {
  /** Final after 16 blocks instead of 64, which is half a minute. */
  slotsInAnEpoch: 8,
  /** A little longer than finality takes. */
  keptStates: 32,
  /** Twelve hours of live blocks: each hour costs the node some 30 MB, and that has to end somewhere. */
  keptBlocks: 21_600,
}

/** Undefined where nothing is saved, or where the saved state can't be used, which is reported. */
export async function continueChain(folder: StateFolder, options: BeginOptions): Promise<DevnetChain | undefined> {
  const { report, signal, seed } = options
  const saved = await restoreState(folder, planHash())
  if (saved.kind === 'none') return undefined
  try {
    if (saved.kind === 'unusable') throw new StateUnusable(saved.reason)
    const { genesisSeconds, gasLimit } = saved.label
    const anvil = await startAnvil({
      ...nodeOf(folder, signal),
      loadState: folder.load,
      ...(genesisSeconds !== undefined && { genesisSeconds }),
      ...(gasLimit !== undefined && { gasLimit }),
    })
    return await stopOnError(anvil, async () => {
      const chain = await openChain(anvil)
      const { genesisHash, tip, label } = await readEnds(chain, saved.label)
      const deployment = deploymentOf(chain.accounts[0])
      const markets = marketsOf(MARKET_PLANS, deployment)
      const prices = await readUsdPrices(anvil.rpc, deployment, markets)
      const traders = createTraders({ chain, deployment, markets, prices, seed: seed ^ tip.number })
      await writeLabel(folder, label)
      await removeDump(folder)
      return { kind: 'continued', anvil, chain, deployment, markets, traders, genesisHash, tip }
    })
  } catch (error) {
    signal.throwIfAborted()
    // A node that refuses the state exits by itself; after a kill or a full disk the next start still has it.
    const refused = error instanceof AnvilEnded && error.exit.signal === null
    if (!refused && !(error instanceof StateUnusable)) throw error
    report({ kind: 'devnet-state-unusable', reason: error.message })
    return undefined
  }
}

/** The history ends now, at the time of the call. */
export async function createChain(folder: StateFolder, options: BeginOptions): Promise<DevnetChain> {
  const { historyHours, seed, report, signal } = options
  report({ kind: 'devnet-begins', historyHours })
  await removeState(folder)
  const blocks = Math.floor((historyHours * 3_600) / HISTORY_BLOCK_SECONDS)
  const from = Math.floor(Date.now() / 1_000) - blocks * HISTORY_BLOCK_SECONDS
  const genesisSeconds = from - SETUP_SECONDS
  const anvil = await startAnvil({ ...nodeOf(folder, signal), genesisSeconds })
  const work = stopOnError(anvil, async (): Promise<DevnetChain> => {
    const chain = await openChain(anvil)
    const deployment = deploymentOf(chain.accounts[0])
    await deployContracts(chain, deployment, genesisSeconds + 1)
    const pools = { plans: MARKET_PLANS, prices: FIRST_PRICES, timestamp: genesisSeconds + 2 }
    const markets = await openMarkets(chain, deployment, pools)
    report({ kind: 'devnet-deployed', contracts: Object.keys(deployment).length, pools: markets.length })
    const traders = createTraders({ chain, deployment, markets, prices: FIRST_PRICES, seed })
    for (let done = 1; done <= blocks; done += 1) {
      signal.throwIfAborted()
      await chain.mineBlock(traders.next(HISTORY_BLOCK_SECONDS), from + (done - 1) * HISTORY_BLOCK_SECONDS)
      if (done % PROGRESS_BLOCKS === 0) report({ kind: 'devnet-history', blocks: done, of: blocks })
    }
    const { genesisHash, tip, label } = await readEnds(chain)
    // Not before the history is whole: a dump without this label is not taken up.
    await writeLabel(folder, label)
    return { kind: 'new', anvil, chain, deployment, markets, traders, genesisHash, tip }
  })
  return await work.catch(async (error: unknown) => {
    await removeState(folder)
    throw error
  })
}

type TradersSetup = Pick<DevnetChain, 'chain' | 'deployment' | 'markets'> & {
  prices: typeof FIRST_PRICES
  seed: number
}

/** The first account has deployed everything and is left alone. */
function createTraders({ chain, deployment, markets, prices, seed }: TradersSetup): Traders {
  const [, sender, ...others] = chain.accounts
  if (!sender) throw new Error('the node has no account to trade with')
  return tradersOf({ seed, markets, prices, router: deployment.router, senders: [sender, ...others] })
}

function nodeOf(folder: StateFolder, signal: AbortSignal) {
  return { ...NODE, dumpState: folder.dump, onSpawn: (pid: number) => recordNodePid(folder, pid), signal }
}

async function readEnds({ rpc }: Chain, saved?: StateLabel): Promise<ChainEnds> {
  const [genesis, latest] = (await rpc([
    { method: 'eth_getBlockByNumber', params: ['0x0', false] },
    { method: 'eth_getBlockByNumber', params: ['latest', false] },
  ])) as [{ hash: Hash; timestamp: Hex; gasLimit: Hex } | null, { number: Hex; timestamp: Hex }]
  if (!genesis) throw new StateUnusable('it has no genesis block')
  const { hash: genesisHash } = genesis
  if (saved && saved.genesisHash !== genesisHash) {
    throw new StateUnusable(`it begins with block ${genesisHash}, not with ${saved.genesisHash} as it did`)
  }
  return {
    genesisHash,
    tip: { number: Number(latest.number), timestamp: Number(latest.timestamp) },
    label: {
      plan: planHash(),
      genesisHash,
      genesisSeconds: Number(genesis.timestamp),
      gasLimit: Number(genesis.gasLimit),
    },
  }
}

class StateUnusable extends Error {}

/** Identifies tokens, pools and contracts: a saved chain of another plan can't be continued. */
function planHash(): Hash {
  return keccak256(toHex(JSON.stringify([TOKEN_PLANS, MARKET_PLANS, readBytecode()])))
}

async function stopOnError<T>(anvil: Anvil, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await anvil.stop()
    throw error
  }
}
