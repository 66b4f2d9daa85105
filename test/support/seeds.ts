/** Seeds: fresh ones in each run, printed, and those that once failed, kept. */
import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** `suite`: where the seed failed; `found`: the defect; `isPlain`: a history of the simulation without the ways of providers. */
export type KeptSeed = { suite: 'simulation' | 'chaos' | 'readers'; seed: number; found: string; isPlain?: true }

export const KEPT_SEEDS_FILE = join(import.meta.dirname, '../simulation/kept-seeds.json')

/** Below a million: suites put offsets on top. */
const MAX_SEED = 900_000

/** The one in `SEED`, else a new one, which is printed. */
export function freshSeed(suite: KeptSeed['suite']): number {
  const given = process.env['SEED']
  if (given !== undefined) return Number(given)
  const seed = randomInt(1, MAX_SEED)
  console.log(`${suite}: seeds from ${seed} on`)
  return seed
}

function readKept(): KeptSeed[] {
  return JSON.parse(readFileSync(KEPT_SEEDS_FILE, 'utf8'))
}

export function keptSeeds(suite: KeptSeed['suite']): number[] {
  return readKept().flatMap((kept) => (kept.suite === suite ? kept.seed : []))
}

/** Seeds of histories that were drawn before there were faults of providers. */
export function plainSeeds(): ReadonlySet<number> {
  return new Set(readKept().flatMap(({ isPlain, seed }) => (isPlain ? seed : [])))
}
