/** A node of the simulated chain: its view of the branches, as far as its answers need it. */
import { encodeAbiParameters, type Hex, parseAbiParameters } from 'viem'
import {
  type ChainView,
  type Contract,
  type ContractReader,
  functionOf,
  readContract,
  respond,
} from '../support/fake-node.ts'
import { type Call, type Outcome, refusal } from '../support/json-rpc.ts'
import { ancestorOf, type Block } from './block.ts'
import { POOLS, TOKENS } from './market.ts'
import { receiptsOf } from './receipts.ts'

/** A node's view of the chain; all its answers follow from it. */
export type View = {
  chainId: number
  head: Block
  finalized: Block
  /** Blocks of other branches that the node has had, by hash: it still answers their logs. */
  past: ReadonlyMap<Hex, Block>
}

export function respondFrom(view: View, call: Pick<Call, 'method' | 'params'>): Outcome {
  if (call.method !== 'eth_getBlockReceipts' && call.method !== 'eth_getTransactionReceipt')
    return respond(chainOf(view), call)
  const place = call.params[0] as Hex
  const isOfBlock = call.method === 'eth_getBlockReceipts'
  for (let at: Block | undefined = view.head; at; at = at.parent) {
    if (isOfBlock && at.number === Number(place)) return { result: receiptsOf(at.logs) }
    const own = isOfBlock ? undefined : receiptsOf(at.logs).find(({ transactionHash }) => transactionHash === place)
    if (own) return { result: own }
  }
  return { result: null }
}

function chainOf({ chainId, head, finalized, past }: View): ChainView {
  function blockOf(place: number | Hex): Block | undefined {
    if (typeof place === 'number') return ancestorOf(head, place)
    for (let at: Block | undefined = head; at; at = at.parent) if (at.hash === place) return at
    return past.get(place)
  }
  return {
    chainId,
    head: head.number,
    finalized: finalized.number,
    headerOf(place) {
      const block = blockOf(place)
      return block ? headerOf(block) : null
    },
    logsOf(place) {
      if (typeof place === 'string') return blockOf(place) ?? refusal(-32000, 'unknown block')
      const blocks: Block[] = []
      // Past its head a node has nothing to say, and says so by an empty answer.
      const newest = ancestorOf(head, Math.min(head.number, place.to))
      for (let at = newest; at && at.number >= place.from; at = at.parent) blocks.push(at)
      return { logs: blocks.reverse().flatMap(({ logs }) => logs) }
    },
    contractsAt(place) {
      const block = blockOf(place)
      return block ? contractsAfter(block) : refusal(-32000, 'header not found')
    },
  }
}

export function headerOf(block: Block) {
  return { ...block.header, transactions: block.hasReceipts ? block.logs.map((log) => log.transactionHash) : [] }
}

function contractsAfter({ number, pools }: Block): ContractReader {
  const contracts: Record<string, Contract> = {}
  for (const [address, token] of Object.entries(TOKENS)) {
    contracts[address] = { kind: 'token', ...token, balanceOf: (account) => BigInt(number) * account }
  }
  for (const { id, protocol, factory, currency0, currency1, fee } of POOLS) {
    if (protocol !== 'v3' || !pools.has(id)) continue
    contracts[id] = { kind: 'v3-pool', factory, token0: currency0, token1: currency1, fee }
  }
  return (target, data) =>
    functionOf(data) === 'poolKeys' ? poolKeyOf(data.slice(10, 60), pools) : readContract(contracts, target, data)
}

const poolKey = parseAbiParameters('address, address, uint24, int24, address')
const NO_HOOKS = '0x0000000000000000000000000000000000000000'

/** The PositionManager's answer, which is zeros for a pool that it has not minted into. */
function poolKeyOf(id: string, pools: Block['pools']): Hex {
  const known = POOLS.find((pool) => pool.isInPositionManager && pools.has(pool.id) && pool.id.slice(2, 52) === id)
  const key = known ? ([known.currency0, known.currency1, known.fee, 60, NO_HOOKS] as const) : undefined
  return encodeAbiParameters(poolKey, key ?? [NO_HOOKS, NO_HOOKS, 0, 0, NO_HOOKS])
}
