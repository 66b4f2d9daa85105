/** Random runs that can be had again: a run that fails prints its seed, and `SEED=<n>` gives it back. */
import type { Parameters } from 'fast-check'

const given = process.env['SEED']
/** Within the time limits of the tests that query a server. */
const SHRINK_MS = 40_000

/** For properties that cost microseconds: a failure is shrunk at once. */
export function seeded<Ts>(parameters: Parameters<Ts> = {}): Parameters<Ts> {
  return given === undefined ? parameters : { ...parameters, seed: Number(given) }
}

/**
 * For properties that ask a server: the first failure is reported by its seed alone, since what it ran on fills pages.
 * Given that seed, it is shrunk for a while and shown whole.
 */
export function seededOnServers<Ts>(parameters: Parameters<Ts> = {}): Parameters<Ts> {
  if (given !== undefined) return seeded({ ...parameters, interruptAfterTimeLimit: SHRINK_MS })
  return {
    ...parameters,
    endOnFailure: true,
    reporter({ failed, numRuns, seed, errorInstance }) {
      if (!failed) return
      throw new Error(`Run ${numRuns} failed. Run this test with SEED=${seed} to see it again, shrunk.`, {
        cause: errorInstance,
      })
    },
  }
}
