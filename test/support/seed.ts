/** Random runs that can be had again: fast-check prints the seed of a run that failed, and `SEED=<n>` gives it back. */
import type { Parameters } from 'fast-check'

const given = process.env['SEED']

/** For properties that cost microseconds: a failure is shrunk at once. */
export function seeded<Ts>(parameters: Parameters<Ts> = {}): Parameters<Ts> {
  return given === undefined ? parameters : { ...parameters, seed: Number(given) }
}

/** For properties that ask a server: the first failure is reported as it is, and shrunk when its seed is given back. */
export function seededOnServers<Ts>(parameters: Parameters<Ts> = {}): Parameters<Ts> {
  return { endOnFailure: given === undefined, ...seeded(parameters) }
}
