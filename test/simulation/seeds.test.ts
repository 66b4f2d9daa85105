/**
 * Whatever the chain and its nodes do, and whenever our processes die: the end equals a clean run over the final chain.
 * `SEED=<n>` gives one life again and shows what happened in it, `SEEDS=<n>` asks for that many.
 */
import { describe, test } from 'vitest'
import { judged } from './judge.ts'
import { planOf } from './simulate.ts'

const given = process.env['SEED']
const first = { length: Number(process.env['SEEDS'] ?? 200) }
const SEEDS = given === undefined ? Array.from(first, (_, index) => index + 1) : [Number(given)]

describe('a listener and a ledger end where a clean run ends', () => {
  test.each(SEEDS)('SEED=%i', { timeout: 60_000 }, async (seed) => {
    const { happened, facts } = await judged(planOf(seed))
    if (given !== undefined) console.log(Object.fromEntries(happened.all), facts)
  })
})
