/** Starts the made-up chain's node. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export type ChainNode = { url: string; stop(): Promise<void> }

export type Chain = { latencyMs: number; head: number; swapsPerBlock: number }

export async function startChain({ latencyMs, head, swapsPerBlock }: Chain): Promise<ChainNode> {
  const script = join(import.meta.dirname, 'chain-process.ts')
  const args = ['--import', 'tsx', script, ...[latencyMs, head, swapsPerBlock].map(String)]
  const node = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(node, 'exit')
  const [line] = (await once(node.stdout, 'data')) as [Buffer]
  return {
    url: line.toString().trim(),
    async stop() {
      node.stdin.end()
      await ended
    },
  }
}
