/** Prices read from the pools, from which traders continue after a restart. */
import { decodeFunctionResult, encodeFunctionData, type Hex } from 'viem'
import type { Rpc, RpcCall } from '../chain/rpc.ts'
import { stateViewAbi, v3PoolAbi } from '../contracts/contracts.ts'
import type { DevContracts } from '../contracts/deploy.ts'
import type { DevMarket } from './market.ts'
import { decimalsOf } from './open-markets.ts'
import type { DevUsdPrices } from './plan.ts'
import { priceOf } from './sqrt-price.ts'

/** Token1 per token0 of each market, decimal-adjusted, in the same order. */
export async function readSpotPrices(
  rpc: Rpc,
  { stateView }: DevContracts,
  markets: readonly DevMarket[],
): Promise<number[]> {
  const answers = await rpc(markets.map((market) => slot0Call(market, stateView)))
  return markets.map((market, index) => {
    const data = answers[index] as Hex
    const [sqrtPriceX96] =
      market.place.kind === 'v3'
        ? decodeFunctionResult({ abi: v3PoolAbi, functionName: 'slot0', data })
        : decodeFunctionResult({ abi: stateViewAbi, functionName: 'getSlot0', data })
    return priceOf(sqrtPriceX96, decimalsOf(market))
  })
}

function slot0Call({ id, place }: DevMarket, stateView: Hex): RpcCall {
  const call =
    place.kind === 'v3'
      ? { to: place.pool.pool, data: encodeFunctionData({ abi: v3PoolAbi, functionName: 'slot0' }) }
      : { to: stateView, data: encodeFunctionData({ abi: stateViewAbi, functionName: 'getSlot0', args: [id] }) }
  return { method: 'eth_call', params: [call, 'latest'] }
}

/** By the first pool of each pair. */
export async function readUsdPrices(
  rpc: Rpc,
  deployment: DevContracts,
  markets: readonly DevMarket[],
): Promise<DevUsdPrices> {
  const spots = await readSpotPrices(rpc, deployment, markets)
  const spotOf = (symbol0: string, symbol1: string) => {
    const index = markets.findIndex(({ token0, token1 }) => token0.symbol === symbol0 && token1.symbol === symbol1)
    const spot = spots[index]
    if (spot === undefined) throw new Error(`the devnet has no pool ${symbol0}/${symbol1}`)
    return spot
  }
  const ETH = 1 / spotOf('USDC', 'WETH')
  const inEther = (symbol: string) => spotOf(symbol, 'WETH') * ETH
  return { ETH, WETH: ETH, WBTC: inEther('WBTC'), MKR: inEther('MKR'), USDC: 1, DAI: spotOf('DAI', 'USDC') }
}
