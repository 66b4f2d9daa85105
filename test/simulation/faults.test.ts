/** Each fault by itself, in worlds where nothing else is wrong. */
import { describe, expect, test } from 'vitest'
import { ChainReplaced } from '../../ingest/model/errors.ts'
import { drawn } from '../support/sample.ts'
import { FAULTS, HALTS } from './fault.ts'
import { judged } from './oracle.ts'
import { simulate } from './simulate.ts'

const SEEDS = [1, 2, 3, 4, 5, 6]

describe('the end equals a clean run over the final chain, whatever comes between', () => {
  test.each(drawn('faults', FAULTS, 8))('%s', async (fault) => {
    let times = 0
    for (const seed of SEEDS) times += (await judged({ seed, faults: [fault] })).happened.of(fault)
    expect(times).toBeGreaterThan(0)
  })

  test('nothing at all', async () => {
    await judged({ seed: 1, faults: [] })
  })
})

describe('a chain that is replaced below its finality', () => {
  const all = HALTS.flatMap((halt) => SEEDS.map((seed) => ({ halt, seed })))
  const worlds = drawn('halts', all, 6)
  test.each(worlds)('$halt: it ends the listener, which says so (seed $seed)', async ({ halt, seed }) => {
    const { failures } = await simulate({ seed, faults: [], halt })
    expect(failures).toEqual([expect.any(ChainReplaced)])
    expect(String(failures[0])).toMatch(
      /^ChainReplaced: The ethereum chain was replaced below its finality: block \d+ was final as 0x[0-9a-f]{64}, and is 0x[0-9a-f]{64} now\. Nothing stored was changed\. Check that ETHEREUM_RPC_URL names nodes of the right chain; if the chain itself was replaced, go back to block (\d+), the newest stored one that it still has: npm run rewind -- --network ethereum --to \1$/,
    )
  })
})
