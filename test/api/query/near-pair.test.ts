/** Pairs as people type them. */
import { expect, test } from 'vitest'
import { nearPair, nearPairs } from '../../../api/query/near-pair.ts'

test.each([
  ['weth/usdc', 'WETH-USDC'],
  ['WETHUSDC', 'WETH-USDC'],
  ['wethusdt', 'WETH-USDT'],
  ['usdcweth', 'USDC-WETH'],
  ['btc-usdc', 'WBTC-USDC'],
  ['BTCUSD', 'WBTC-USDC'],
  ['eth-usd', 'ETH-USDC'],
  ['ETH USDC', 'ETH-USDC'],
  ['weth_dai', 'WETH-DAI'],
  ['pepe/weth', 'pepe-WETH'],
  ['weth:usdc', 'WETH-USDC'],
])('%s most likely means %s', (text, pair) => expect(nearPair(text)).toBe(pair))

test.each(['WETH-USDC', 'weth-usdc', 'WETH', 'weth-weth', 'eth/eth', '-', '', 'a/b/c', 'NOPENOPE', 'x'.repeat(257)])(
  '%j means no other pair',
  (text) => expect(nearPair(text)).toBeUndefined(),
)

test('a dollar is any of the listed ones', () => {
  expect(nearPairs('eth-usd')).toEqual(['ETH-USDC', 'ETH-USDT'])
})
