/** Ranges that are cut out of the logs of a file: by their number, by their size, and never within a block. */
import type { Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { rangesOf } from '../../../infra/files/file-ranges.ts'
import type { LogRow } from '../../../infra/files/file-rows.ts'
import type { Header } from '../../../ingest/rpc/rpc.ts'
import { madeUpHash } from '../../support/recorded.ts'

const BLOCKS = { from: 100, to: 199 }
const MILLION = 1024 * 1024

const headers: readonly Header[] = Array.from({ length: 100 }, (_, index) => ({
  number: BLOCKS.from + index,
  hash: madeUpHash(BLOCKS.from + index),
  parentHash: madeUpHash(BLOCKS.from + index - 1),
  timestamp: 1_700_000_000 + index,
}))

/** So many logs of one block, each with `data`. */
function logsOf(number: number, count: number, data: Hex = '0x'): LogRow[] {
  return Array.from({ length: count }, (_, index) => ({
    ...{ number, index, fault: '' },
    log: {
      ...{ address: '0x01', topics: [], data, blockNumber: '0x', blockHash: '0x', transactionHash: madeUpHash(1) },
      logIndex: `0x${index.toString(16)}`,
    },
  }))
}

/** First block, last block and number of logs of each range. */
async function cut(...pieces: readonly LogRow[][]) {
  async function* inTurn() {
    yield* pieces
  }
  const found: (readonly [from: number, to: number, logs: number])[] = []
  for await (const { range } of rangesOf('a.parquet', BLOCKS, headers, inTurn()))
    found.push([range.from, range.to, range.logs.length])
  return found
}

describe('ranges of a file', () => {
  test('a range ends with the block that brings it to 5,000 logs', async () => {
    const logs = [...logsOf(100, 3_000), ...logsOf(120, 3_000), ...logsOf(130, 20_000), ...logsOf(199, 1)]
    expect(await cut(logs)).toEqual([
      [100, 129, 6_000],
      [130, 198, 20_000],
      [199, 199, 1],
    ])
  })

  test('a range ends with the block that brings its logs to 16 million hex digits', async () => {
    const data: Hex = `0x${'ab'.repeat(3 * MILLION)}`
    const pieces = [101, 102, 103, 104, 150].map((number) => logsOf(number, 1, data))
    expect(await cut(...pieces)).toEqual([
      [100, 103, 3],
      [104, 199, 2],
    ])
  })

  test('a block of more data than fits into one is refused, with the name of the file', async () => {
    const data: Hex = `0x${'ab'.repeat(8 * MILLION)}`
    expect(await cut(logsOf(150, 31, data))).toEqual([[100, 199, 31]])
    await expect(cut(logsOf(150, 33, data))).rejects.toThrow(
      'a.parquet: block 150 has more logs than fit into a block.',
    )
  })
})
