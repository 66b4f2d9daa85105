/** Whether a simulated life ended as a clean run does. */
import { expect } from 'vitest'
import { type Outcome, type Plan, simulate } from './simulate.ts'

/** Fails with the plan's name where it did not. */
export async function judged(plan: Plan): Promise<Outcome> {
  const outcome = await simulate(plan)
  const { rows, clean, failures, head } = outcome
  const name = `SEED=${plan.seed} (${plan.faults.join('; ')})`
  expect(failures, `${name}: nothing ends a listener`).toEqual([])
  if (!outcome.keepsLog) expect(outcome.orphans, `${name}: every message has its place`).toBe(0)
  expect(clean.tip, `${name}: the clean run is whole`).toContain(head.hash)
  expect(rows.tip, `${name}: the head is stored`).toBe(clean.tip)
  for (const table of ['ticks', 'liquidity'] as const) {
    expect(rows[table], `${name}: ${table} are those of a clean run`).toEqual(clean[table])
  }
  const earlier = earlierPools(outcome)
  const pools = rows.pools.filter((row) => clean.pools.includes(row) || !earlier.has(idOf(row)))
  expect(pools, `${name}: pools are those of a clean run`).toEqual(clean.pools)
  return outcome
}

/**
 * Pools that final blocks below the ledger name. A listener names a pool once: the writer stores these too, since another listener's blocks above may have
 * their swaps. A clean run begins with the ledger, and meets only those that trade.
 */
function earlierPools({ taken }: Outcome): ReadonlySet<string> {
  const [first] = taken
  const start = first?.kind === 'range' ? first.from : (first?.number ?? 0)
  const ranges = taken.flatMap((message) => (message.kind === 'range' ? message.blocks : []))
  return new Set(ranges.filter(({ number }) => number < start).flatMap(({ pools }) => pools.map(({ id }) => id)))
}

function idOf(row: string): string {
  return (JSON.parse(row) as { id: string }).id
}
