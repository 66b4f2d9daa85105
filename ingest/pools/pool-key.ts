/** Keys of pools (currencies and fee), verified with the official contracts. */
import { type Address, type Client, parseAbi, zeroAddress } from 'viem'
import type { Created } from '../decode/event.ts'
import type { Network } from '../model/network.ts'
import type { PoolId } from '../model/pool.ts'
import { readMany } from '../rpc/multicall.ts'

export type PoolKey = Pick<Created, 'pool' | 'currency0' | 'currency1' | 'fee'>

const poolAbi = parseAbi([
  'function factory() view returns (address)',
  'function token0() view returns (address)',
  'function token1() view returns (address)',
  'function fee() view returns (uint24)',
])
const factoryAbi = parseAbi(['function getPool(address, address, uint24) view returns (address)'])
const positionManagerAbi = parseAbi([
  'function poolKeys(bytes25 poolId) view returns (address currency0, address currency1, uint24 fee, int24 tickSpacing, address hooks)',
])

/**
 * Keys of the ids that are pools of the official factory. The pool names its key, and the factory confirms it: a fork can name any factory.
 */
export async function readV3Keys(client: Client, network: Network, ids: readonly PoolId[]): Promise<PoolKey[]> {
  const { factory } = network.v3
  const getPool = (...args: readonly [Address, Address, number]) =>
    ({ address: factory, abi: factoryAbi, functionName: 'getPool', args }) as const
  // It reads storage, which takes twice the gas of a pool's constants.
  const short = { witness: getPool(zeroAddress, zeroAddress, 0), maxAlone: 0 }
  const claims = await readMany(
    client,
    ids.map((address) => ({ address, abi: poolAbi, functionName: 'factory' })),
    short,
  )
  const claimed = ids.filter((_, index) => isSameAddress(claims[index], factory))
  const parts = await readMany(
    client,
    claimed.flatMap((address) =>
      ['token0', 'token1', 'fee'].map((functionName) => ({ address, abi: poolAbi, functionName })),
    ),
    short,
  )
  const candidates = claimed.flatMap((pool, index): PoolKey[] => {
    const [token0, token1, fee] = parts.slice(index * 3, index * 3 + 3)
    if (!isAddress(token0) || !isAddress(token1) || !isFee(fee)) return []
    return [{ pool, currency0: lower(token0), currency1: lower(token1), fee }]
  })
  const confirmed = await readMany(
    client,
    candidates.map(({ currency0, currency1, fee }) => getPool(currency0, currency1, fee)),
  )
  return candidates.filter(({ pool }, index) => isSameAddress(confirmed[index], pool))
}

/** PositionManager has the key of every pool in which it ever minted. */
export async function readV4Keys(client: Client, network: Network, ids: readonly PoolId[]): Promise<PoolKey[]> {
  const answers = await readMany(
    client,
    ids.map((id) => ({
      address: network.v4.positionManager,
      abi: positionManagerAbi,
      functionName: 'poolKeys',
      args: [id.slice(0, 2 + 50)],
    })),
  )
  return ids.flatMap((pool, index): PoolKey[] => {
    const answer = answers[index] as readonly [Address, Address, number, number, Address] | undefined
    // An unknown pool has an empty key; a real one has a tick spacing and a second currency.
    if (!answer || answer[1] === zeroAddress) return []
    return [{ pool, currency0: lower(answer[0]), currency1: lower(answer[1]), fee: answer[2] }]
  })
}

function isAddress(value: unknown): value is Address {
  return typeof value === 'string' && value.length === 42
}

/** The decoder accepts any word; the factory takes 24 bits only. */
function isFee(value: unknown): value is number {
  return typeof value === 'number' && value < 2 ** 24
}

function isSameAddress(value: unknown, expected: string): boolean {
  return isAddress(value) && value.toLowerCase() === expected.toLowerCase()
}

function lower(address: Address): Address {
  return address.toLowerCase() as Address
}
