/** The first block of an empty store: a number, the head, or a distance in blocks or time before it; never above finality. */
import type { Client } from 'viem'
import type { Endpoints } from '../rpc/endpoints.ts'
import { getFinality, getHeader, type Header } from '../rpc/rpc.ts'

export type StartBlock =
  | { kind: 'block'; number: number }
  | { kind: 'latest' }
  | { kind: 'blocks-ago'; blocks: number }
  | { kind: 'seconds-ago'; seconds: number }

/** `18937382`, `latest`, `-5000` (blocks) or `24h`; undefined where it is none of them. */
export function parseStart(text: string): StartBlock | undefined {
  if (text === 'latest') return { kind: 'latest' }
  const blocks = /^(-?)(\d{1,12})$/.exec(text)
  if (blocks) {
    const number = Number(blocks[2])
    return blocks[1] === '-' ? { kind: 'blocks-ago', blocks: number } : { kind: 'block', number }
  }
  const duration = /^(\d{1,6})([smhdw])$/.exec(text)
  const unit = duration && SECONDS[duration[2] as keyof typeof SECONDS]
  return unit ? { kind: 'seconds-ago', seconds: Number(duration[1]) * unit } : undefined
}

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const

/**
 * The first block to read, at most the newest final one: if all stored blocks could be replaced, no block would be left to resume from. On
 * the slowest chain that adds some thousand blocks, which is one or two ranges.
 */
export function firstBlock(endpoints: Endpoints, start: StartBlock): Promise<number> {
  return endpoints.run(async (client) => {
    const { head, finalized } = await getFinality(client, endpoints.finality)
    return Math.max(0, Math.min(finalized, await wantedBlock(client, head, start)))
  })
}

async function wantedBlock(client: Client, head: Header, start: StartBlock): Promise<number> {
  switch (start.kind) {
    case 'block':
      return start.number
    case 'latest':
      return head.number
    case 'blocks-ago':
      return head.number - start.blocks
    case 'seconds-ago':
      return firstAtOrAfter(client, head.timestamp - start.seconds, head.number)
  }
}

/** Bisection: about 25 headers on any chain. */
async function firstAtOrAfter(client: Client, timestamp: number, head: number): Promise<number> {
  let low = 0
  let high = head
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const header = await getHeader(client, middle)
    // A pruned node has no old blocks: its oldest block is the first one to read.
    if (!header || header.timestamp < timestamp) low = middle + 1
    else high = middle
  }
  return low
}
