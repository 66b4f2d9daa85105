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
  for (const table of ['ticks', 'liquidity', 'pools'] as const) {
    expect(rows[table], `${name}: ${table} are those of a clean run`).toEqual(clean[table])
  }
  return outcome
}
