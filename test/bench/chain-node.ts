/** Starts the made-up chain's node. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { inputOf } from '../support/child-input.ts'

export type ChainNode = {
  url: string
  /** A new head: its number, and when it was there, in ms of `now`. */
  mine(): Promise<{ number: number; at: number }>
  /** How long an answer takes from now on. */
  setLatency(ms: number): void
  stop(): Promise<void>
}

/** `secondsPerBlock`: of the blocks before the first head. `burst`: one block of `every` has `times` as many swaps. */
export type Chain = {
  latencyMs: number
  head: number
  swapsPerBlock: number
  network?: NetworkName
  secondsPerBlock?: number
  burst?: { every: number; times: number }
  /** Fields of a header have its hash. */
  isProven?: boolean
}

export const CHAIN_POOLS = 400

/** It carries its number in decimal, after letters. */
export function chainPool(index: number): PoolId {
  return `0x${((index % CHAIN_POOLS) + 1).toString().padStart(40, 'b')}`
}

/** Where the chain's swap of that number was, counted from block 0. */
export function poolOfSwap(swap: number): PoolId {
  return chainPool(swap * 7)
}

/** Milliseconds by a clock that all processes of this machine share. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

export async function startChain(chain: Chain): Promise<ChainNode> {
  const script = join(import.meta.dirname, 'chain-process.ts')
  const { latencyMs, head, swapsPerBlock, network = 'ethereum', secondsPerBlock = 12, burst, isProven } = chain
  const { every, times } = burst ?? { every: 1, times: 1 }
  const shape = [
    latencyMs,
    head,
    swapsPerBlock,
    network,
    secondsPerBlock,
    every,
    times,
    isProven ? 'proven' : 'made-up',
  ]
  const args = ['--import', 'tsx', script, ...shape.map(String)]
  const node = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const input = inputOf(node)
  const ended = once(node, 'exit')
  const lines = createInterface(node.stdout)
  const nextLine = async () => ((await once(lines, 'line')) as [string])[0]
  const url = await nextLine()
  return {
    url,
    async mine() {
      input.write('\n')
      const [number, nanoseconds] = (await nextLine()).split(' ')
      return { number: Number(number), at: Number(nanoseconds) / 1e6 }
    },
    setLatency: (ms) => void input.write(`${ms}\n`),
    async stop() {
      input.end()
      await ended
    },
  }
}
