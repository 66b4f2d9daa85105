/** Whether a simulated life ended as a clean run does. */
import { expect } from 'vitest'
import { type Outcome, type Plan, simulate } from './simulate.ts'

export async function judged(plan: Plan): Promise<Outcome> {
  const outcome = await simulate(plan)
  const { seed, faults } = plan
  const name = `SEED=${seed} (${faults.join('; ')})`
  expect(outcome.failures, `${name}: nothing ends a listener`).toEqual([])
  expect(outcome.clean.tip, `${name}: the clean run is whole`).toContain(outcome.head.hash)
  expect(outcome.rows.tip, `${name}: the head is stored`).toBe(outcome.clean.tip)
  for (const table of ['ticks', 'liquidity', 'pools'] as const) {
    expect(outcome.rows[table], `${name}: ${table} are those of a clean run`).toEqual(outcome.clean[table])
  }
  return outcome
}
