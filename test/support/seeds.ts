/** Seeds: fresh ones in each run, printed, and those that once failed, kept. */
import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** `suite`: where the seed failed; `found`: the defect; `isPlain`: a history of the simulation without the ways of providers. */
export type KeptSeed = {
  suite: 'simulation' | 'lies' | 'chaos' | 'readers'
  seed: number
  found: string
  isPlain?: true
}

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

export const isOneSeed = process.env['SEED'] !== undefined

/** Kept ones and `fresh` new ones in a row; those of `SEEDS=<m>-<n>` in their place, or so many where it is one number; the one of `SEED` alone. */
export function seedsToRun(suite: KeptSeed['suite'], fresh: number): number[] {
  const [from = 0, to] = (process.env['SEEDS'] ?? '').split('-').map(Number)
  const first = to === undefined ? freshSeed(suite) : from
  if (isOneSeed) return [first]
  const count = to === undefined ? fresh : to - from + 1
  return [...new Set([...keptSeeds(suite), ...Array.from({ length: count }, (_, at) => first + at)])]
}

/** Seeds of histories that were drawn before there were faults of providers. */
export function plainSeeds(): ReadonlySet<number> {
  return new Set(readKept().flatMap(({ isPlain, seed }) => (isPlain ? seed : [])))
}
