import { expect, test } from 'vitest'
import { validateMessage } from '../../../aggregator/write/validate-message.ts'
import { blocksOver, columnsOf } from '../../../ingest/columns/tick-columns.ts'
import type { Message } from '../../../ingest/model/message.ts'
import type { TickColumns } from '../../../ingest/model/tick.ts'
import { asBlocks, asRange, fullBlocks, mine } from '../../support/chain.ts'

const CHAIN = mine([], fullBlocks(20, 3))
const [BLOCK] = asBlocks('ethereum', CHAIN)
const RANGE = asRange('ethereum', CHAIN)

test('every message of ingest is storable', () => {
  for (const message of [...asBlocks('ethereum', CHAIN), RANGE])
    expect(validateMessage(message, 'ethereum')).toBeUndefined()
})

test('a value that fits no column is named by its field', () => {
  const faults = new Map<string, string | undefined>()
  const spoil = (path: string, value: unknown) => {
    const message: unknown = structuredClone(BLOCK)
    const fields = path.split('.')
    const last = fields.pop() ?? ''
    let at = message as Record<string, unknown>
    for (const field of fields) at = at[field] as Record<string, unknown>
    at[last] = value
    faults.set(`${path} = ${String(value)}`, validateMessage(message as Message, 'ethereum'))
  }
  spoil('network', 'base')
  spoil('hash', '0xabc')
  spoil('parentHash', undefined)
  spoil('timestamp', 2 ** 32)
  spoil('timestamp', 2 ** 32 - 1)
  spoil('number', -1)
  spoil('finalized', 0.5)
  spoil('ticks', undefined)
  spoil('ticks.0', null)
  spoil('ticks.0.transactionHash', `0x${'g'.repeat(64)}`)
  spoil('ticks.0.sender', '0xabc')
  spoil('ticks.0.amount0', 1n << 255n)
  spoil('ticks.0.amount1', 12)
  spoil('ticks.0.liquidity', -1n)
  spoil('ticks.0.poolTick', 2 ** 31)
  spoil('ticks.0.price', Number.NaN)
  spoil('ticks.0.amountUsdMicros', 10n ** 76n)
  spoil('pools.0.token0.decimals', 256)
  spoil('pools.0.token1', undefined)
  spoil('liquidity.0.tickLower', 0.1)
  spoil('balances.0.balance0', 1n << 256n)
  expect(Object.fromEntries(faults)).toMatchInlineSnapshot(`
    {
      "balances.0.balance0 = 115792089237316195423570985008687907853269984665640564039457584007913129639936": "Its balance0 is 115792089237316195423570985008687907853269984665640564039457584007913129639936, which is not a bigint from 0 to 115792089237316195423570985008687907853269984665640564039457584007913129639935.",
      "finalized = 0.5": "Its finalized is 0.5, which is not a whole number of 53 bits.",
      "hash = 0xabc": "Its hash is 0xabc, which is not a hash of 32 bytes.",
      "liquidity.0.tickLower = 0.1": "Its tickLower is 0.1, which is not a whole number of 32 bits.",
      "network = base": "It is of the network base.",
      "number = -1": "Its number is -1, which is not a whole number of 53 bits.",
      "parentHash = undefined": "Its parentHash is undefined, which is not a hash of 32 bytes.",
      "pools.0.token0.decimals = 256": "Its decimals is 256, which is not a whole number of 8 bits.",
      "pools.0.token1 = undefined": "Cannot read properties of undefined (reading 'address')",
      "ticks = undefined": "block.ticks is not iterable",
      "ticks.0 = null": "Cannot read properties of null (reading 'pool')",
      "ticks.0.amount0 = 57896044618658097711785492504343953926634992332820282019728792003956564819968": "Its amount0 is 57896044618658097711785492504343953926634992332820282019728792003956564819968, which is not a bigint from -57896044618658097711785492504343953926634992332820282019728792003956564819968 to 57896044618658097711785492504343953926634992332820282019728792003956564819967.",
      "ticks.0.amount1 = 12": "Its amount1 is 12, which is not a bigint from -57896044618658097711785492504343953926634992332820282019728792003956564819968 to 57896044618658097711785492504343953926634992332820282019728792003956564819967.",
      "ticks.0.amountUsdMicros = 10000000000000000000000000000000000000000000000000000000000000000000000000000": "Its amountUsdMicros is 10000000000000000000000000000000000000000000000000000000000000000000000000000, which is not a bigint from 0 to 9999999999999999999999999999999999999999999999999999999999999999999999999999.",
      "ticks.0.liquidity = -1": "Its liquidity is -1, which is not a bigint from 0 to 340282366920938463463374607431768211455.",
      "ticks.0.poolTick = 2147483648": "Its poolTick is 2147483648, which is not a whole number of 32 bits.",
      "ticks.0.price = NaN": "Its price is NaN, which is not a price.",
      "ticks.0.sender = 0xabc": "Its sender is 0xabc, which is not an address of 20 bytes.",
      "ticks.0.transactionHash = 0xgggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggg": "Its transactionHash is 0xgggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggg, which is not a hash of 32 bytes.",
      "timestamp = 4294967295": "Its timestamp is 4294967295, which is not a time before 2106-02-07T00:00:00.000Z.",
      "timestamp = 4294967296": "Its timestamp is 4294967296, which is not a whole number of 32 bits.",
    }
  `)
})

test('a hash is 0x and 64 lower-case hexadecimal digits, whatever stands where', () => {
  const hash = `0x${'0123456789abcdef'.repeat(4)}`
  for (let index = 0; index < hash.length; index++) {
    for (const character of ['/', '0', '9', ':', 'A', 'F', '`', 'a', 'f', 'g', 'x', 'é']) {
      const spoiled = hash.slice(0, index) + character + hash.slice(index + 1)
      const message = { ...RANGE, hash: spoiled as `0x${string}` }
      const isHash = /^0x[0-9a-f]{64}$/.test(spoiled)
      expect(validateMessage(message, 'ethereum') === undefined, spoiled).toBe(isHash)
    }
  }
  for (const spoiled of [hash.slice(0, -1), `${hash}0`, `${hash}\n`] as `0x${string}`[])
    expect(validateMessage({ ...RANGE, hash: spoiled }, 'ethereum')).toMatch('which is not a hash of 32 bytes')
})

test('a range that ends before it begins is not storable', () => {
  expect(validateMessage({ ...RANGE, to: RANGE.from - 1 }, 'ethereum')).toBe(`It goes from 100 to 99.`)
})

test('content that no listener makes is told by what is wrong in it', () => {
  const [first, second] = RANGE.blocks
  if (!BLOCK || !first || !second) throw new Error('The chain has blocks with content.')
  const [tick] = BLOCK.ticks
  const reasons = [
    { ...BLOCK, finalized: BLOCK.number + 1 },
    { ...BLOCK, ticks: [tick, tick] },
    { ...BLOCK, ticks: BLOCK.ticks.map((one) => ({ ...one, pool: '0xabc' })) },
    { ...BLOCK, pools: BLOCK.pools.map((one) => ({ ...one, protocol: 'dex-v9' })) },
    { ...BLOCK, pools: BLOCK.pools.map((one) => ({ ...one, token0: { ...one.token0, name: 'x'.repeat(513) } })) },
    { ...RANGE, to: 2 ** 53 - 1 },
    { ...RANGE, from: RANGE.from + 1 },
    { ...RANGE, blocks: [second, first] },
    { ...RANGE, blocks: [first, first] },
    { ...RANGE, kind: 'restatement', job: 2 ** 32, firstTimestamp: 1 },
    { ...RANGE, kind: 'restatement', job: 1, firstTimestamp: 1, pools: 5 },
  ].map((message) => validateMessage(message as unknown as Message, 'ethereum')?.slice(0, 90))
  expect(reasons).toMatchInlineSnapshot(`
    [
      "It says that block 101 is final, and begins with 100.",
      "Its log 1 comes after log 1.",
      "Its pool is 0xabc, which is not an address, or an id of 32 bytes.",
      "Its protocol is dex-v9, which is not one of dex-v3, dex-v4.",
      "Its token is xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
      "It goes from 100 to 9007199254740991, over more than 50000 blocks.",
      "Its block 100 follows 100, in a range from 101 to 119.",
      "Its block 100 follows 101, in a range from 100 to 119.",
      "Its block 100 follows 100, in a range from 100 to 119.",
      "Its job is 4294967296, which is not a whole number of 32 bits.",
      "Its pools is 5, which is not a list of pools.",
    ]
  `)
})

test('columns whose rows are of no block, out of order or no numbers are told by what is wrong in them', () => {
  const { blocks } = RANGE
  const overwrite = { ...RANGE, kind: 'restatement', job: 1, firstTimestamp: 1, pools: undefined } as const
  const spoiled = (spoil: (columns: TickColumns) => void) => {
    const columns = columnsOf(blocks)
    spoil(columns)
    return validateMessage({ ...overwrite, blocks: blocksOver(blocks, columns), columns }, 'ethereum')
  }
  expect(spoiled(() => {})).toBeUndefined()
  expect(spoiled(({ block }) => (block[0] = 1))).toMatch(/^It has \d+ ticks, and its blocks 0 of them\.$/)
  expect(spoiled(({ time }) => (time[0] = 7))).toMatch(/^A tick of its block \d+ has the time 7\.$/)
  expect(spoiled(({ logIndex }) => logIndex.fill(5))).toMatch(/^Its log 5 comes after log 5\.$/)
  expect(spoiled(({ price }) => (price[0] = Number.NaN))).toBe('Its price is NaN, which is not a price.')
  const tooLarge = new Map([[1, new Map([[2, { amount0: 0n, amount1: 2n ** 255n }]])]])
  expect(spoiled((columns) => Object.assign(columns, { hookAmounts: tooLarge }))).toMatch(
    /^Its hookAmount1 is \d+, which/,
  )
  expect(spoiled(({ usdMicros }) => usdMicros.fill(2 ** 31))).toMatch(/^Its amountUsdMicros is \d+, which is not/)
})
