/** Whether a simulated life ended as a clean run does. */
import { expect } from 'vitest'
import { blocksOf } from '../../ingest/model/message.ts'
import { ancestorOf } from './block.ts'
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
  const isDown = wasHistoryDown(plan, outcome)
  const lost = new Set(isDown ? unknownPools(outcome) : [])
  const known = (rows: readonly string[]) =>
    isDown ? rows.filter((row) => !lost.has(rowIn(row).pool ?? '')).map(withoutDollars) : rows
  for (const table of ['ticks', 'liquidity'] as const) {
    expect(known(rows[table]), `${name}: ${table} are those of a clean run`).toEqual(known(clean[table]))
  }
  const earlier = new Set([...earlierPools(outcome), ...lost])
  const pools = rows.pools.filter((row) => clean.pools.includes(row) || !earlier.has(idOf(row)))
  const named = clean.pools.filter((row) => !lost.has(idOf(row)) || rows.pools.includes(row))
  expect(pools, `${name}: pools are those of a clean run`).toEqual(named)
  return outcome
}

/** The endpoint that alone has old logs did not answer for a while. Meanwhile pools and prices that only it knows are not used: an audit adds both. */
function wasHistoryDown({ faults }: Plan, { facts }: Outcome): boolean {
  const isDown = facts.some((it) => it.kind === 'endpoint-cooling' && it.endpoint === 'node-0' && it.failures >= 7)
  return isDown && faults.includes('expired history')
}

function unknownPools({ facts }: Outcome): string[] {
  return facts.flatMap((it) => (it.kind === 'pool-skipped' && it.reason === 'unknown-pool' ? it.pool : []))
}

type Row = { id: string; block: number; pool?: string; amountUsdMicros?: string }
export const rowIn = (text: string) => JSON.parse(text) as Row

export function withoutDollars(row: string): string {
  return JSON.stringify({ ...rowIn(row), amountUsdMicros: undefined })
}

/**
 * Pools that blocks of the chain below the ledger name, one by one or in ranges. A listener names a pool once: the writer stores these too, since another
 * listener's blocks above may have their swaps. A clean run begins with the ledger, and meets only those that trade.
 */
function earlierPools({ taken, head }: Outcome): ReadonlySet<string> {
  const [first] = taken
  const start = first?.kind === 'range' ? first.from : (first?.number ?? 0)
  const below = taken
    .flatMap(blocksOf)
    .filter(({ number, hash }) => number < start && ancestorOf(head, number)?.hash === hash)
  return new Set(below.flatMap(({ pools }) => pools.map(({ id }) => id)))
}

function idOf(row: string): string {
  return rowIn(row).id
}
