import { createClient, custom, type Hex, numberToHex } from 'viem'
import { expect, test } from 'vitest'
import { readRanges } from '../../../ingest/blocks/range-scheduler.ts'
import { endpointsOf } from '../../../ingest/rpc/endpoints/endpoints.ts'

const hashOf = (block: number): Hex => `0x${block.toString(16).padStart(64, '0')}`

/** A node whose every block has so many logs, and the ranges that it was asked for. */
function nodeWith(logsPerBlock: number) {
  const asked: { from: number; to: number }[] = []
  async function request({ method, params }: { method: string; params?: unknown }): Promise<unknown> {
    const [first] = params as [unknown]
    if (method === 'eth_getBlockByNumber') {
      const number = Number(first)
      const parentHash = hashOf(number - 1)
      return { number: first, hash: hashOf(number), parentHash, timestamp: numberToHex(number * 12) }
    }
    const { fromBlock, toBlock } = first as { fromBlock: Hex; toBlock: Hex }
    const [from, to] = [Number(fromBlock), Number(toBlock)]
    asked.push({ from, to })
    return Array.from({ length: (to - from + 1) * logsPerBlock }, (_, index) => {
      const block = from + Math.floor(index / logsPerBlock)
      return {
        address: `0x${'11'.repeat(20)}`,
        topics: [hashOf(1)],
        data: '0x',
        blockNumber: numberToHex(block),
        blockHash: hashOf(block),
        blockTimestamp: numberToHex(block * 12),
        transactionHash: hashOf(index),
        logIndex: numberToHex(index % logsPerBlock),
      }
    })
  }
  const client = createClient({ name: 'here', transport: custom({ request }, { retryCount: 0 }) })
  return { endpoints: endpointsOf([client], { headerProof: 'off' }), asked }
}

const options = { filter: { topics: [] }, from: 1, signal: new AbortController().signal }

test('ranges grow until their answers are long enough, and no further: those on their way are of older widths', async () => {
  const { endpoints, asked } = nodeWith(4)
  for await (const { from, to, logs } of readRanges(endpoints, { ...options, to: 30_000 })) {
    expect(logs.length).toBe((to - from + 1) * 4)
  }
  const widths = asked.map(({ from, to }) => to - from + 1)
  expect(widths.slice(0, 8)).toEqual([500, 500, 500, 500, 1_000, 1_000, 1_000, 1_000])
  expect(widths.slice(8, -1).every((width) => width === 2_000)).toBe(true)
  expect(asked.map(({ from }) => from).slice(1)).toEqual(asked.map(({ to }) => to + 1).slice(0, -1))
  expect(asked.at(-1)?.to).toBe(30_000)
})

test('ranges whose answers are too long are halved once, not once for each that was on its way', async () => {
  const { endpoints, asked } = nodeWith(30)
  for await (const _ of readRanges(endpoints, { ...options, to: 5_000 }));
  const widths = asked.map(({ from, to }) => to - from + 1)
  expect(widths.slice(0, 4)).toEqual([500, 500, 500, 500])
  expect(widths.slice(4, -1).every((width) => width === 250)).toBe(true)
})

test('as many ranges as allowed are requested while one is worked on', async () => {
  const { endpoints, asked } = nodeWith(1)
  const ranges = readRanges(endpoints, { ...options, to: 100_000, inFlight: 3 })
  await ranges.next()
  await expect.poll(() => asked.length).toBe(4)
  await ranges.return(undefined)
})
