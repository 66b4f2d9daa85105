/** Chooses the lead pool of a pair. */
import { hasHookDeltas, type PoolId } from '../../../ingest/model/pool.ts'
import type { Match } from '../pools/pair-search.ts'
import { SOUND_USD } from '../pools/top-pools.ts'

/** The figures of a pool that the choice compares. */
export type Candidate = Match & {
  /** Swaps in the range of the query. */
  trades: number
  rangeUsdMicros: bigint
  /** Volume in the 24 hours that end with the query. */
  dayUsdMicros: bigint
  /** Now. */
  valueUsd: number
  /** Average over those 24 hours, weighted by time. */
  heldUsd: number
  /** How far its prices in the range are from the pair's: 0.01 is 1 %. */
  deviation: number
}

/** Why a pool with more volume does not lead. */
export type PassedOver = { pool: PoolId; reason: 'deviating-price' | 'unheld-volume' }

export type Lead = { candidate: Candidate; passedOver: PassedOver | undefined }

/** A pool whose prices are further from the pair's does not lead while another is nearer. */
export const MAX_DEVIATION = 0.01

/**
 * Candidates: pools with prices near the pair's, else the nearest ones; among these the pools that traded in the range, else all. The lead has
 * the most volume in 24 h, then in the range, then the most value. Wash trading in one's own pool is free, so volume counts only up to the
 * value held that day. Moving its price is free too, and the range may be short, so prices are compared before trades. Small pools lead only
 * where no other is left. A pool whose hook may take or give beside a swap, so that its prices are not those that accounts paid, leads only where
 * every other one is small: else a pool of dust would lead before it. Ties follow the order of networks and ids, so that the answer is deterministic.
 */
export function leadOf(all: readonly Candidate[]): Lead | undefined {
  const candidates = all.some((one) => isWhole(one) && isSound(one)) ? all.filter(isWhole) : all
  const nearest = Math.min(...preferring(candidates, isSound).map(({ deviation }) => deviation))
  const agreeing = candidates.filter(({ deviation }) => deviation <= Math.max(MAX_DEVIATION, nearest))
  const sound = preferring(preferring(agreeing, hasTraded), isSound)
  const isHeldKnown = sound.some(({ heldUsd }) => heldUsd > 0)
  const lead = firstOf(sound, isHeldKnown ? countedVolume : ({ dayUsdMicros }) => dayUsdMicros)
  if (!lead) return undefined
  const loudest = firstOf(preferring(preferring(candidates, hasTraded), isSound), ({ dayUsdMicros }) => dayUsdMicros)
  if (!loudest || loudest === lead) return { candidate: lead, passedOver: undefined }
  const reason = agreeing.includes(loudest) ? 'unheld-volume' : 'deviating-price'
  return { candidate: lead, passedOver: { pool: loudest.listing.pool.id, reason } }
}

export function hasTraded({ trades }: Pick<Candidate, 'trades'>): boolean {
  return trades > 0
}

/** Swaps are all that the pool's accounts paid and received. */
function isWhole({ listing }: Candidate): boolean {
  return !hasHookDeltas(listing.pool)
}

function isSound({ valueUsd }: Candidate): boolean {
  return valueUsd >= SOUND_USD
}

function preferring(candidates: readonly Candidate[], good: (candidate: Candidate) => boolean): readonly Candidate[] {
  const preferred = candidates.filter(good)
  return preferred.length > 0 ? preferred : candidates
}

type VolumeOf = (candidate: Candidate) => bigint

function countedVolume({ dayUsdMicros, heldUsd }: Candidate): bigint {
  const heldMicros = BigInt(Math.floor(heldUsd * 1e6))
  return dayUsdMicros < heldMicros ? dayUsdMicros : heldMicros
}

function firstOf(candidates: readonly Candidate[], volumeOf: VolumeOf): Candidate | undefined {
  return candidates.reduce<Candidate | undefined>(
    (best, candidate) => (best === undefined || leads(candidate, best, volumeOf) ? candidate : best),
    undefined,
  )
}

function leads(one: Candidate, other: Candidate, volumeOf: VolumeOf): boolean {
  const [volume, otherVolume] = [volumeOf(one), volumeOf(other)]
  if (volume !== otherVolume) return volume > otherVolume
  if (one.rangeUsdMicros !== other.rangeUsdMicros) return one.rangeUsdMicros > other.rangeUsdMicros
  if (one.valueUsd !== other.valueUsd) return one.valueUsd > other.valueUsd
  const network = one.listing.network.chainId - other.listing.network.chainId
  if (network !== 0) return network < 0
  return one.listing.pool.id < other.listing.pool.id
}
