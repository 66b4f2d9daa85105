/**
 * Whatever the chain and its nodes do, and whenever our processes die: the end equals a clean run over the final chain.
 * `SEED=<n>` gives one life again and shows what happened in it, `SEEDS=<n>` asks for that many, `SEEDS=<m>-<n>` for those.
 */
import { describe, test } from 'vitest'
import { judged } from './oracle.ts'
import { planOf } from './simulate.ts'

const given = process.env['SEED']
const [first = 1, last = 200] = range(process.env['SEEDS'])
const SEEDS = given === undefined ? Array.from({ length: last - first + 1 }, (_, at) => first + at) : [Number(given)]

function range(text = '200'): number[] {
  const ends = text.split('-').map(Number)
  return ends.length === 1 ? [1, ...ends] : ends
}

describe('a listener and a ledger end where a clean run ends', () => {
  test.each(SEEDS)('SEED=%i', { timeout: 60_000 }, async (seed) => {
    const { happened, facts } = await judged(planOf(seed))
    if (given !== undefined) console.log(Object.fromEntries(happened.all), facts)
  })
})
