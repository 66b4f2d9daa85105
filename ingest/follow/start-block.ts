/** The first block of an empty store: a number, the head, or a distance in blocks or time before it; never above finality. */
import { isReadAfterAll, readable } from '../pools/history-end.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import { pinToBlock } from '../rpc/endpoints/pin-to-block.ts'
import { getFinality, type Header } from '../rpc/rpc.ts'

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
 * the slowest chain that adds some thousand blocks, which is one or two ranges. `onMoved` is called where no endpoint has the wanted block any
 * more: then it is the oldest one that they have.
 */
export async function firstBlock(
  endpoints: Endpoints,
  start: StartBlock,
  onMoved?: (wanted: number | undefined, first: number) => void,
): Promise<number> {
  const { head, final } = await endpoints.run((client) => getFinality(client, endpoints.finality))
  if (!final || final.number <= 0) return 0
  const wanted = wantedBlock(head, start)
  if (wanted !== undefined && wanted >= final.number) return final.number
  const isWanted = ({ number, timestamp }: Header) =>
    start.kind === 'seconds-ago' ? timestamp >= head.timestamp - start.seconds : number >= Math.max(0, wanted ?? 0)
  const pinned = pinToBlock(endpoints, final)
  const first = await oldestBlock(pinned, isWanted, final.number, wanted)
  if (first.isMoved) onMoved?.(wanted, first.number)
  return first.number
}

/** Undefined where only the times of blocks tell. */
function wantedBlock(head: Header, start: StartBlock): number | undefined {
  switch (start.kind) {
    case 'block':
      return start.number
    case 'latest':
      return head.number
    case 'blocks-ago':
      return Math.max(0, head.number - start.blocks)
    case 'seconds-ago':
      return undefined
  }
}

/**
 * The oldest wanted block that can be read, at most `top`. Galloping down from the top, then bisection: some 50 headers on any chain, and few
 * of them older than the block itself.
 */
async function oldestBlock(
  endpoints: Endpoints,
  isWanted: (header: Header) => boolean,
  top: number,
  guess: number | undefined,
): Promise<{ number: number; isMoved: boolean }> {
  /** The newest block that could not be read. */
  let unread = -1
  const isThere = async (number: number) => {
    const header = await readable(endpoints, number)
    if (!header) unread = Math.max(unread, number)
    return header !== undefined && isWanted(header)
  }
  let [low, high, step] = [-1, top, 1]
  if (guess !== undefined && (await isThere(guess))) return { number: guess, isMoved: false }
  for (;;) {
    for (; low === -1 && high > 0; step *= 2) {
      const at = Math.max(0, high - step)
      if (await isThere(at)) high = at
      else low = at
    }
    while (low + 1 < high) {
      const middle = Math.floor((low + high) / 2)
      if (await isThere(middle)) high = middle
      else low = middle
    }
    if (unread < high - 1 || high === 0) return { number: high, isMoved: false }
    if (!(await isReadAfterAll(endpoints, high - 1))) return { number: high, isMoved: true }
    ;[low, step, unread] = [-1, 1, -1]
    // The block above it is a better bound than none: the search repeats below.
    if (await isThere(high - 1)) high -= 1
  }
}
