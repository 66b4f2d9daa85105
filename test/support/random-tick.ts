/** Ticks whose numbers are of any size that a log can carry. */
import type { PoolId } from '../../ingest/model/pool.ts'
import type { Tick } from '../../ingest/model/tick.ts'
import type { Random } from '../simulation/random.ts'

const POOLS = 12

/** Half of its words are as short as those of most swaps, the others have up to 256 bits. */
export function randomTick(random: Random, logIndex: number): Tick {
  const signed = (bits: number) =>
    BigInt.asIntN(256, random.bits(1) === 0n ? sized(random, bits) : -sized(random, bits))
  const sender = random.between(0, 3) === 0 ? undefined : hex(random, 20)
  return {
    pool: poolOf(random.between(0, POOLS - 1)),
    logIndex,
    transactionHash: hex(random, 32),
    ...(sender && { sender }),
    amount0: signed(255),
    amount1: signed(255),
    sqrtPriceX96: 1n + sized(random, 160),
    liquidity: sized(random, 128),
    poolTick: random.between(-887_272, 887_272),
    fee: random.between(0, 1_000_000),
    price: Number(1n + random.bits(80)) / 2 ** 40,
    spotPrice: Number(1n + random.bits(80)) / 2 ** 40,
    amountUsdMicros: sized(random, 250),
  }
}

/** Every third one is of v4. */
function poolOf(index: number): PoolId {
  return `0x${(index + 1).toString(16).padStart(index % 3 === 0 ? 64 : 40, '0')}`
}

function sized(random: Random, most: number): bigint {
  const sizes = [0, 8, 32, 53, 64, 96, most]
  return random.bits(sizes[random.between(0, sizes.length - 1)] ?? most)
}

function hex(random: Random, bytes: number): `0x${string}` {
  return `0x${(random.bits(bytes * 8 - 1) + 1n).toString(16).padStart(bytes * 2, '0')}`
}
