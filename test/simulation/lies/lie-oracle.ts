/** Holds a history with liars to the promises of `infra/docs/trust.md`. */
import { expect } from 'vitest'
import { REFERENCE_POOL } from '../market.ts'
import type { Rows } from '../memory-store.ts'
import { rowIn, withoutDollars } from '../oracle.ts'
import { type LieOutcome, simulateLies } from './lie-life.ts'
import type { LiePlan } from './lie-plan.ts'

/** Fails with the plan's name where a promise was broken. */
export async function judgedAmongLiars(plan: LiePlan): Promise<LieOutcome> {
  const outcome = await simulateLies(plan)
  const { failures, falseFinal, audited, rows, clean, facts } = outcome
  const name = `SEED=${plan.seed} (${nameOf(plan)}; ${plan.faults.join('; ')})`
  expect(failures, `${name}: nothing ends a listener`).toEqual([])
  expect(falseFinal, `${name}: no block is final that the chain does not have`).toEqual([])
  const liars = new Set(plan.liars.map(({ voice }) => `node-${voice}`))
  const named = facts.flatMap((fact) =>
    fact.kind === 'endpoint-omitted-logs' || fact.kind === 'endpoint-altered-logs' ? fact.endpoint : [],
  )
  expect(
    [...new Set(named)].filter((endpoint) => !liars.has(endpoint)),
    `${name}: no honest endpoint is named`,
  ).toEqual([])
  expect(clean.tip, `${name}: the clean run is whole`).toContain(outcome.headHash)
  expect(rows.tip, `${name}: the head is stored`).toBe(clean.tip)
  if (audited) {
    expect(audited.undecided, `${name}: one honest voice proves each block`).toEqual([])
    const tables = below(audited.rows, audited.to)
    expectSame(
      plan,
      { rows: tables, clean: below(clean, audited.to), auditedTo: audited.to },
      `${name}, while they lie`,
    )
  }
  expectSame(plan, outcome, `${name}, in the end`)
  return outcome
}

function nameOf({ voices, liars }: LiePlan): string {
  const told = liars.map(({ voice, lie, isFickle, from, to }) => {
    return `${voice} of ${voices}: ${lie}, ${isFickle ? 'now and then' : 'always'}, ${from} to ${to ?? 'the end'}`
  })
  return told.join('; ')
}

/** Dollars follow from earlier blocks: they are compared in blocks that are audited. */
function expectSame(
  plan: LiePlan,
  { rows, clean, auditedTo }: Pick<LieOutcome, 'rows' | 'clean' | 'auditedTo'>,
  name: string,
): void {
  const priced = firstPriced(clean)
  for (const table of ['ticks', 'liquidity'] as const) {
    const told = (all: readonly string[]) => all.map((row) => withAuditedDollars(row, priced, auditedTo))
    expect(told(rows[table]), `${name}: ${table} are those of a clean run`).toEqual(told(clean[table]))
  }
  // Names of tokens are not proven, and a pool of an altered log exists as well.
  const ids = (all: readonly string[]) => new Set(all.map((row) => rowIn(row).id))
  const missing = [...ids(clean.pools)].filter((id) => !ids(rows.pools).has(id))
  if (clean.ticks.length === rows.ticks.length) expect(missing, `${name}: all pools are named`).toEqual([])
  if (plan.liars.every(({ lie }) => lie !== 'false token names'))
    expect(
      clean.pools.filter((row) => !rows.pools.some((it) => sameButPrice(it) === sameButPrice(row))),
      name,
    ).toEqual([])
}

function sameButPrice(row: string): string {
  return JSON.stringify({ ...(JSON.parse(row) as object), initialSqrtPriceX96: undefined })
}

/** Pools are those of these rows. */
function below({ tip, ...tables }: Rows, to: number): Rows {
  const isBelow = (text: string) => rowIn(text).block <= to
  const [ticks, liquidity] = [tables.ticks.filter(isBelow), tables.liquidity.filter(isBelow)]
  const met = new Set([...ticks, ...liquidity].map((row) => rowIn(row).pool))
  return { tip, ticks, liquidity, pools: tables.pools.filter((row) => met.has(rowIn(row).id)) }
}

/** Before the first stored swap of the reference pool, dollars follow from one that an endpoint tells of. */
function firstPriced({ ticks }: Rows): number {
  const first = ticks.map(rowIn).find(({ pool }) => pool === REFERENCE_POOL)
  return first?.block ?? Number.POSITIVE_INFINITY
}

function withAuditedDollars(text: string, priced: number, auditedTo: number): string {
  const { block } = rowIn(text)
  return block > priced && block <= auditedTo ? text : withoutDollars(text)
}
