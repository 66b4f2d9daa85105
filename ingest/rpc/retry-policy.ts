/** Back-off times of an endpoint. */
import type { NetworkName } from '../model/network.ts'

export type RetryPolicy = {
  /** Pause after the first failure; doubles with each further one. */
  coolDownMs: number
  maxCoolDownMs: number
  /** Pause after a 429 without `Retry-After`; doubles with each further one. */
  rateLimitMs: number
  /** Lower bound of the rate after the first 429. */
  minPerSecond: number
  /** How long a range cap is assumed before a wider range is tried. */
  capMs: number
  /** How long an endpoint that was behind comes last. */
  behindMs: number
  /** Interval between comparisons of heads. */
  compareMs: number
  /** How much later than another one an endpoint may answer its head: the block time of the network where absent. */
  lateMs?: number
  /** Interval between checks of an endpoint's chain id. */
  chainIdMs: number
  /** How long implausible finality is waited out. */
  finalityLostMs: number
  /** In place of the network's own, see `finality.ts`. */
  minFinalitySeconds?: number
  /** From 0 up to 1: spreads the pauses, so that listeners do not retry in step. */
  random(): number
}

export const RETRY_POLICY: RetryPolicy = {
  coolDownMs: 500,
  maxCoolDownMs: 60_000,
  rateLimitMs: 1_000,
  minPerSecond: 20,
  capMs: 600_000,
  behindMs: 30_000,
  compareMs: 15_000,
  chainIdMs: 600_000,
  finalityLostMs: 600_000,
  random: Math.random,
}

/** Usual times between blocks. */
export const BLOCK_MS: Readonly<Record<NetworkName, number>> = {
  ethereum: 12_000,
  polygon: 2_000,
  arbitrum: 250,
  base: 2_000,
  optimism: 2_000,
}
