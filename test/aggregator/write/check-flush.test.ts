/** Rules that hold at the last gate before rows, each with the sentence of its breach. */

import { describe, expect, test } from 'vitest'
import { BrokenInvariant, checkCounts, checkFlush, checkVersions } from '../../../aggregator/write/check-flush.ts'
import type { PlacedMessage } from '../../../aggregator/write/rows.ts'
import type { BlockContent, BlockMessage } from '../../../ingest/model/message.ts'
import { asBlocks, asRange, type Chain, fullBlocks, mine } from '../../support/chain.ts'
import { networkOf } from '../running.ts'

const network = networkOf('ethereum')
const CHAIN = mine([], fullBlocks(6, 4))

/** The blocks as one flush upon the first of them. */
function placedOf(
  chain: Chain,
  change: (message: BlockMessage, index: number) => object = () => ({}),
): PlacedMessage[] {
  return asBlocks(network, chain)
    .map((message, index) => ({
      message: { ...message, ...change(message, index) },
      position: { generation: 0, offset: 10 + index },
      parent: chain[index - 1],
    }))
    .slice(1)
}

const ruleOf = (check: () => unknown) => {
  try {
    check()
  } catch (error) {
    if (error instanceof BrokenInvariant)
      return /^Block \d+ of ethereum breaks the rule that ([^:]+):/.exec(error.message)?.[1]
    throw error
  }
  return undefined
}

describe('a flush', () => {
  test('a flush of blocks in order, or of a range, passes', () => {
    expect(ruleOf(() => checkFlush(network, placedOf(CHAIN)))).toBeUndefined()
    const range = {
      message: asRange(network, CHAIN.slice(2)),
      position: { generation: 0, offset: 3 },
      parent: CHAIN[1],
    }
    expect(ruleOf(() => checkFlush(network, [range]))).toBeUndefined()
  })

  test('a range is refused where a block of it is above its end, or comes twice', () => {
    const position = { generation: 0, offset: 3 }
    const message = asRange(network, CHAIN.slice(2))
    for (const blocks of [
      [...message.blocks, { ...message.blocks[0], number: message.to + 1 } as BlockContent],
      [...message.blocks.slice(0, 1), ...message.blocks],
    ])
      expect(ruleOf(() => checkFlush(network, [{ message: { ...message, blocks }, position, parent: CHAIN[1] }]))).toBe(
        'blocks of a message ascend within its range',
      )
  })

  test.each<[string, (message: BlockMessage, index: number) => object]>([
    [
      'its parent is the block before it on the ledger',
      (_, index) => (index === 3 ? { parentHash: CHAIN[0]?.hash } : {}),
    ],
    ['a block follows the tip of the ledger', ({ number }, index) => (index === 1 ? { number: number + 1 } : {})],
    ['log indexes grow', ({ ticks }, index) => (index === 2 ? { ticks: [...ticks, ...ticks.slice(-1)] } : {})],
    [
      'log indexes grow',
      ({ liquidity }, index) => (index === 2 ? { liquidity: [...liquidity, ...liquidity.slice(-1)] } : {}),
    ],
  ])('a flush is refused where this is broken: %s', (rule, change) => {
    expect(ruleOf(() => checkFlush(network, placedOf(CHAIN, change)))).toBe(rule)
  })

  test('a flush is refused where blocks are missing, doubled, or out of their order', () => {
    const placed = placedOf(CHAIN)
    const [a, b, c] = placed as [PlacedMessage, PlacedMessage, PlacedMessage]
    for (const wrong of [
      [a, c],
      [a, a, b],
      [b, a],
    ])
      expect(ruleOf(() => checkFlush(network, wrong))).toBe('a flush has the blocks of the ledger in their order')
    const earlier = { ...a.position, offset: a.position.offset - 1 }
    expect(ruleOf(() => checkFlush(network, [a, { ...b, position: earlier }]))).toBe('versions of rows do not fall')
  })

  test('a flush is refused where its versions are below those of the flush before', () => {
    const placed = placedOf(CHAIN)
    const flushed = checkVersions(network, placed.slice(0, 2), 7n, {})
    expect(ruleOf(() => checkVersions(network, placed.slice(2), 8n, { flushed }))).toBeUndefined()
    const rule = 'versions of a flush are not below those of the flush before'
    expect(ruleOf(() => checkVersions(network, placed.slice(2), 7n, { flushed }))).toBe(rule)
    expect(ruleOf(() => checkVersions(network, placed, 8n, { flushed }))).toBe(rule)
  })

  test('a flush is refused where a tick has no row, or is in no candle', () => {
    const ticks = CHAIN.flatMap((block) => block.ticks).length
    expect(ruleOf(() => checkCounts(network, 1, { ticks, encoded: ticks, folded: ticks }))).toBeUndefined()
    for (const counts of [
      { encoded: ticks - 1, folded: ticks },
      { encoded: ticks, folded: ticks + 0.25 },
    ])
      expect(ruleOf(() => checkCounts(network, 1, { ticks, ...counts }))).toBe(
        'each tick is one row and counts once in candles',
      )
  })

  test('a refusal says what to do in one sentence', () => {
    expect(() =>
      checkFlush(
        network,
        placedOf(CHAIN, ({ ticks }, index) => (index === 1 ? { ticks: [...ticks].reverse() } : {})),
      ),
    ).toThrow(
      /^Block 101 of ethereum breaks the rule that log indexes grow: log \d+ comes after log \d+\. Nothing of it is on the ledger\./,
    )
  })
})
