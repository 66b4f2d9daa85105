/** Keys of pools (currencies and fee), verified with the contracts that made them. */
import { type Address, type Client, parseAbi, zeroAddress } from 'viem'
import type { Created } from '../decode/event.ts'
import { lower } from '../lib/lower.ts'
import type { Network } from '../model/network.ts'
import type { PoolId } from '../model/pool.ts'
import type { VenueName } from '../model/venue.ts'
import { readMany } from '../rpc/multicall.ts'
import { uniswap } from '../venues/uniswap.ts'
import type { Venue } from '../venues/venue.ts'
import { deploymentsOf } from '../venues/venues.ts'

export type PoolKey = Pick<Created, 'pool' | 'currency0' | 'currency1' | 'fee' | 'hooks'> & {
  /** Absent for v4, which is Uniswap's. */
  venue?: VenueName
}

const poolAbi = parseAbi(['function factory() view returns (address)'])
const positionManagerAbi = parseAbi([
  'function poolKeys(bytes25 poolId) view returns (address currency0, address currency1, uint24 fee, int24 tickSpacing, address hooks)',
])

/**
 * Keys of the ids that are pools of a factory that the network reads. The pool names its key, and the factory confirms it: a fork can name any
 * factory.
 */
export async function readV3Keys(client: Client, network: Network, ids: readonly PoolId[]): Promise<PoolKey[]> {
  const deployments = deploymentsOf(network)
  const { factory: official } = network.v3
  const { abi, getPool } = uniswap.proof
  // It reads storage, which takes twice the gas of a pool's constants.
  const witness = { address: official, abi, functionName: getPool, args: [zeroAddress, zeroAddress, 0] }
  const short = { witness, maxAlone: 0 }
  const claims = await readMany(
    client,
    ids.map((address) => ({ address, abi: poolAbi, functionName: 'factory' })),
    short,
  )
  const claimed = ids.flatMap((pool, index): ClaimedPool[] => {
    const claim = claims[index]
    const factory = isAddress(claim) ? lower(claim) : undefined
    const venue = factory && deployments.get(factory)
    return venue ? [{ pool, factory, venue }] : []
  })
  const namesOf = ({ venue }: ClaimedPool) => ['token0', 'token1', ...venue.proof.parts]
  const answers = await readMany(
    client,
    claimed.flatMap((claim) =>
      namesOf(claim).map((functionName) => ({ address: claim.pool, abi: claim.venue.proof.abi, functionName })),
    ),
    short,
  )
  const candidates = claimed.flatMap((claim) => {
    const [token0, token1, ...parts] = answers.splice(0, namesOf(claim).length)
    const { abi, getPool: functionName, keyParts, feeOf } = claim.venue.proof
    const fee = feeOf(parts)
    const keyed = parts.slice(0, keyParts)
    if (!isAddress(token0) || !isAddress(token1) || fee === undefined || keyed.includes(undefined)) return []
    const question = { address: claim.factory, abi, functionName, args: [token0, token1, ...keyed] }
    const { pool, venue } = claim
    const key: PoolKey = { pool, currency0: lower(token0), currency1: lower(token1), fee, venue: venue.name }
    return [{ key, question }]
  })
  const confirmed = await readMany(
    client,
    candidates.map(({ question }) => question),
  )
  return candidates.flatMap(({ key }, index) => (isSameAddress(confirmed[index], key.pool) ? [key] : []))
}

/** A contract that says that a factory made it. */
type ClaimedPool = { pool: PoolId; factory: Address; venue: Venue }

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
    return [{ pool, currency0: lower(answer[0]), currency1: lower(answer[1]), fee: answer[2], hooks: lower(answer[4]) }]
  })
}

function isAddress(value: unknown): value is Address {
  return typeof value === 'string' && value.length === 42
}

function isSameAddress(value: unknown, expected: string): boolean {
  return isAddress(value) && value.toLowerCase() === expected.toLowerCase()
}
