/** Chapter 1. A swap is a log of a few words; decoded and priced, it is a tick. */
import { createClient, http } from 'viem'
import { expect, test } from 'vitest'
import { createAssembler } from '../../ingest/blocks/assemble.ts'
import { decodeV3 } from '../../ingest/decode/decode-v3.ts'
import { decodeV4 } from '../../ingest/decode/decode-v4.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { sideOf } from '../../ingest/model/tick.ts'
import { executionPrice, spotPrice } from '../../ingest/pricing/price.ts'
import { endpointsOf } from '../../ingest/rpc/endpoints/endpoints.ts'
import { recordedBlock, recordedDay } from '../support/recorded.ts'
import { startRecordedDay } from '../support/recorded-day.ts'

const { ethereum } = NETWORKS

test('a log becomes a swap: words of 32 bytes, sliced by the decoder', () => {
  const [log] = recordedDay()
  expect(log && decodeV3(log, ethereum.v3.factory)).toMatchInlineSnapshot(`
    {
      "amount0": 22686110n,
      "amount1": -10000000000000000n,
      "fee": undefined,
      "kind": "swap",
      "liquidity": 12453647101533358277n,
      "logIndex": 169,
      "pool": "0x88e6a0c2ddd26feeb64f039a2c41296fcb3f5640",
      "poolTick": 199045,
      "sender": "0x3fc91a3afd70395cd496c647d5a6cc9d4b2b7fad",
      "sqrtPriceX96": 1662995104975155420368771254341874n,
      "transactionHash": "0x0bb5e0dc49ae0b5a1949beabadc64522dd5615415a168650a3b592a84ae5ee05",
    }
  `)
})

// In one real transaction an arbitrageur sold WETH in the v3 pool 0xe0554a… and bought ETH in the v4 pool 0x21c67e….
// v3 logs say what the pool received, v4 logs what the swapper received: opposite signs for the same deed.
test('v3 and v4 are both turned to the view of the taker: + received, − paid', () => {
  const swaps = recordedBlock()
    .logs.filter((log) => log.transactionHash.startsWith('0x81728f20'))
    .map((log) => decodeV4(log, ethereum.v4.poolManager) ?? decodeV3(log, ethereum.v3.factory))
    .filter((event) => event?.kind === 'swap')
  const lines = swaps.map(({ pool, amount0, amount1 }) => `${pool.slice(0, 8)}… ${amount0} ${amount1}`)
  expect(lines).toMatchInlineSnapshot(`
    [
      "0xc7bbec… -119879176460137734 289053964",
      "0xe0554a… 2549977996 -1059032621868122112",
      "0x21c67e… 1059623499715010074 -2549977984",
    ]
  `)
})

test('a swap has two prices: what the taker paid, and where it left the pool', () => {
  const [log] = recordedDay()
  const swap = log && decodeV3(log, ethereum.v3.factory)
  if (swap?.kind !== 'swap') throw new Error('The first log of the day is a swap.')
  const decimals = { decimals0: 6, decimals1: 18 }
  // Both are WETH per USDC, token1 per token0. Each is rounded once, from the exact ratio of two integers.
  const execution = executionPrice(swap.amount0, swap.amount1, decimals)
  const spot = spotPrice(swap.sqrtPriceX96, decimals)
  expect({ execution, spot }).toMatchInlineSnapshot(`
    {
      "execution": 0.00044079835635108883,
      "spot": 0.00044057796667222013,
    }
  `)
  // The taker bought USDC: token0 came in.
  expect(sideOf(swap)).toBe('buy')
  // The fee of 0.05 % is the gap between the two: the taker pays it, the pool does not show it.
  expect((execution ?? 0) / spot - 1).toBeCloseTo(0.0005, 4)
})

test('nothing is said of an amount too small to have a price: the spot price stands in', () => {
  expect(executionPrice(-9_999n, 10n ** 15n, { decimals0: 6, decimals1: 18 })).toBeUndefined()
})

test('the assembler asks the chain once who the pool is, and puts everything into the block', async () => {
  const node = await startRecordedDay()
  const client = createClient({ transport: http(node.url) })
  const assembler = createAssembler(endpointsOf([client], { headerProof: 'off' }), ethereum, undefined, () => {})
  const logs = recordedDay().slice(0, 1)
  const headers = logs.map(({ blockNumber, blockHash: hash, blockTimestamp }) => {
    return { number: Number(blockNumber), hash, timestamp: Number(blockTimestamp) }
  })

  const [block] = await assembler.assemble(logs, headers)
  expect(block?.pools.map(({ token0, token1, fee }) => `${token0.symbol}/${token1.symbol} ${fee}`)).toEqual([
    'USDC/WETH 500',
  ])
  // Both legs are trusted tokens, so the swap's worth is the mean of the two, in millionths of a dollar.
  expect(block?.ticks).toMatchObject([
    { logIndex: 169, price: 0.00044079835635108883, spotPrice: 0.00044057796667222013, amountUsdMicros: 22_691_784n },
  ])

  const calls = { ...node.calls }
  await assembler.assemble(logs, headers)
  expect(node.calls).toEqual(calls)
  await node.stop()
})
