/** A v4 position that comes through the PositionManager, which then can be asked for the pool's key. */
import { type Address, encodeAbiParameters, encodeFunctionData, type Hex, parseAbiParameters } from 'viem'
import { NATIVE_CURRENCY } from '../../../ingest/model/network.ts'
import type { Transaction } from '../chain/chain.ts'
import { positionManagerAbi, tokenAbi } from '../contracts/contracts.ts'
import type { DevContracts } from '../contracts/deploy.ts'
import type { LiquidityPosition, V4PoolKey } from './market.ts'

/** Actions of the PositionManager: mint a position, then settle both currencies from its own balances. */
const MINT_POSITION_AND_SETTLE_BOTH: Hex = '0x020b0b'
const UNBOUNDED = 2n ** 128n - 1n
const WHOLE_DEBT = 0n
const ENDLESS_ETHER = 10n ** 24n
const ENDLESS_TOKENS = 1n << 120n
const NO_DEADLINE = 2n ** 256n - 1n

export function managedMint(
  key: V4PoolKey,
  position: LiquidityPosition,
  { positionManager }: DevContracts,
  from: Address,
): Transaction[] {
  const { tickLower, tickUpper, liquidity } = position
  const mint = encodeAbiParameters(
    parseAbiParameters([
      '(address currency0, address currency1, uint24 fee, int24 tickSpacing, address hooks), int24, int24, uint256, uint128, uint128, address, bytes',
    ]),
    [key, tickLower, tickUpper, liquidity, UNBOUNDED, UNBOUNDED, from, '0x'],
  )
  const settlements = [key.currency0, key.currency1].map((currency) =>
    encodeAbiParameters(parseAbiParameters('address, uint256, bool'), [currency, WHOLE_DEBT, false]),
  )
  const unlockData = encodeAbiParameters(parseAbiParameters('bytes, bytes[]'), [
    MINT_POSITION_AND_SETTLE_BOTH,
    [mint, ...settlements],
  ])
  const funded = [key.currency0, key.currency1].filter((currency) => currency !== NATIVE_CURRENCY)
  const args = [unlockData, NO_DEADLINE] as const
  const data = encodeFunctionData({ abi: positionManagerAbi, functionName: 'modifyLiquidities', args })
  return [
    ...funded.map((token): Transaction => {
      const args = [positionManager, ENDLESS_TOKENS] as const
      return { from, to: token, data: encodeFunctionData({ abi: tokenAbi, functionName: 'mint', args }) }
    }),
    { from, to: positionManager, data, value: key.currency0 === NATIVE_CURRENCY ? ENDLESS_ETHER : 0n },
  ]
}
