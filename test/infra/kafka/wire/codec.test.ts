import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decode } from '../../../../infra/kafka/wire/decode.ts'
import { encode } from '../../../../infra/kafka/wire/encode.ts'
import { blocksOver, columnsOf } from '../../../../ingest/columns/tick-columns.ts'
import { anyMessage, blockMessage } from '../messages.ts'

test('a decoded message equals the encoded one', () => {
  fc.assert(
    fc.property(anyMessage, (message) => {
      expect(decode(encode(message))).toStrictEqual(message)
    }),
    { numRuns: 300 },
  )
})

test('ticks in columns are written as the same ticks in blocks', () => {
  const ranges = anyMessage.filter((message) => message.kind === 'restatement')
  fc.assert(
    fc.property(ranges, (message) => {
      const columns = columnsOf(message.blocks)
      const blocks = message.blocks.map((block) => ({ ...block, ticks: [] }))
      const asBlocks = { ...message, blocks: blocksOver(blocks, columns) }
      expect(encode({ ...message, blocks, columns }).toString()).toBe(encode(asBlocks).toString())
    }),
    { numRuns: 300 },
  )
})

test('words of any length in columns are written as they are in blocks', () => {
  const block = blockMessage(1)
  const [tick] = block.ticks
  if (!tick) throw new Error('The block has a tick.')
  const edges = [0n, 1n, ...[32n, 53n, 64n, 96n, 127n, 160n, 255n].flatMap((bits) => [2n ** bits - 1n, 2n ** bits])]
  const ticks = edges.flatMap((edge) =>
    [BigInt.asIntN(256, edge), -edge].map((amount0) => {
      const sizes = { sqrtPriceX96: edge, amountUsdMicros: edge, liquidity: BigInt.asUintN(128, edge) }
      return { ...tick, ...sizes, amount0, amount1: BigInt.asIntN(256, amount0 * 3n) }
    }),
  )
  const { number, hash, timestamp } = block
  const blocks = [{ number, hash, timestamp, ticks, pools: [], liquidity: [], balances: [] }]
  const place = { from: 1, to: number, firstTimestamp: timestamp, timestamp, hash }
  const message = { kind: 'restatement', network: 'ethereum', job: 1, pools: undefined, ...place, blocks } as const
  expect(encode({ ...message, columns: columnsOf(blocks) }).toString()).toBe(encode(message).toString())
})

test('a message written before senders were kept is read, without them', () => {
  const message = blockMessage(1)
  const { senders: _, ...wire } = JSON.parse(encode(message).toString())
  delete wire.ticks.sender
  const ticks = message.ticks.map(({ sender: _, ...tick }) => tick)
  expect(decode(Buffer.from(JSON.stringify(wire)))).toStrictEqual({ ...message, ticks })
})

test('amounts of hooks are in a message only where a tick has some, and name ticks that it has', () => {
  const message = blockMessage(2)
  expect(JSON.parse(encode(message).toString())).not.toHaveProperty('hookAmounts')
  const hookAmounts = { amount0: 5n, amount1: -(2n ** 127n) }
  const ticks = message.ticks.map((tick, index) => (index === 0 ? { ...tick, hookAmounts } : tick))
  const wire = JSON.parse(encode({ ...message, ticks }).toString())
  expect(wire.hookAmounts).toEqual({ tick: [0], amount0: [5], amount1: ['-0x80000000000000000000000000000000'] })
  expect(decode(Buffer.from(JSON.stringify(wire)))).toStrictEqual({ ...message, ticks })
  for (const wrong of [
    { tick: [ticks.length] },
    { tick: [-1] },
    { amount0: [] },
    { amount1: 'x' },
    { tick: undefined },
  ]) {
    const spoiled = { ...wire, hookAmounts: { ...wire.hookAmounts, ...wrong } }
    expect(() => decode(Buffer.from(JSON.stringify(spoiled))), JSON.stringify(wrong)).toThrow(/hookAmounts/)
  }
})

test('a message of a later version says which program can read it', () => {
  const bytes = Buffer.from(JSON.stringify({ v: 2 }))
  expect(() => decode(bytes)).toThrowErrorMatchingInlineSnapshot(
    `[UnreadableMessage: A message of the log can't be read: its format has version 2, this program knows 1. Run the version that wrote it, or a later one.]`,
  )
})

test('bytes that are no message are told by how they begin', () => {
  expect(() => decode(Buffer.from('hello'))).toThrowErrorMatchingInlineSnapshot(
    `[UnreadableMessage: A message of the log can't be read: it is not JSON; it begins with "hello".]`,
  )
})

test('a price that is no number is never written', () => {
  const message = blockMessage(1)
  const ticks = message.ticks.map((tick) => ({ ...tick, price: Number.NaN }))
  expect(() => encode({ ...message, ticks })).toThrow('has the price NaN')
})
