/** A JSON-RPC node over HTTP on a simulated chain that forks, and the moment at which it first served each block. */
import type { Hash } from 'viem'
import type { Block } from '../simulation/block.ts'
import { Happened } from '../simulation/fault.ts'
import { respondFrom } from '../simulation/node.ts'
import type { Random } from '../simulation/random.ts'
import { World } from '../simulation/world.ts'
import { answerTo, sendJson, serveTexts } from '../support/json-rpc.ts'

export type ForkingNode = {
  url: string
  world: World
  /** Every block that it has served, on any branch. */
  blocks: ReadonlyMap<Hash, Block>
  /** In ms of `performance.now`. */
  servedAt(hash: Hash): number
  /** Changes the chain, and notes what is new on it. */
  change(act: (world: World) => void): void
  stop(): Promise<void>
}

/** Forks of up to 64 blocks stay above what is final. */
const FINALITY_LAG = 70
/** Where the contracts of both protocols are there. */
export const GENESIS = { oldest: 25_000_000, timestamp: Date.UTC(2024, 0, 31, 22, 58) / 1_000 }

export async function startForkingNode(random: Random): Promise<ForkingNode> {
  const world = new World({
    random,
    happened: new Happened(),
    isBalanced: true,
    finalityLag: FINALITY_LAG,
    genesis: GENESIS,
  })
  const blocks = new Map<Hash, Block>()
  const times = new Map<Hash, number>()
  const change = (act: (world: World) => void) => {
    // A block is not served before.
    const moment = performance.now()
    act(world)
    for (let at: Block | undefined = world.head; at && !blocks.has(at.hash); at = at.parent) {
      blocks.set(at.hash, at)
      times.set(at.hash, moment)
    }
  }
  change(() => {})
  const { url, stop } = await serveTexts((body, response) => {
    const [node] = world.nodes
    if (!node) throw new Error('A world has a node.')
    sendJson(
      response,
      answerTo(body, (call) => respondFrom(node.view, call)),
    )
  })
  const servedAt = (hash: Hash) => times.get(hash) ?? Number.POSITIVE_INFINITY
  return { url, world, blocks, servedAt, change, stop }
}
