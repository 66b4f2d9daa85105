/** Whatever the chain and its nodes do: the end equals a clean run over the final chain. `SEED=<n>` gives one run, `SEEDS=<n>` more of them. */
import { expect, test } from 'vitest'
import { judged } from './judge.ts'
import { planOf } from './simulate.ts'

const given = process.env['SEED']
const SEEDS =
  given === undefined ? Array.from({ length: Number(process.env['SEEDS'] ?? 200) }, (_, i) => i + 1) : [Number(given)]

test('a listener and a ledger end where a clean run ends, whatever happened', { timeout: 600_000 }, async () => {
  const failed: { seed: number; error: unknown }[] = []
  for (const seed of SEEDS) {
    try {
      const outcome = await judged(planOf(seed))
      if (given !== undefined) {
        console.log([...outcome.happened.all], outcome.facts.slice(-40))
      }
    } catch (error) {
      if (given !== undefined) throw error
      failed.push({ seed, error })
      if (failed.length >= 5 && !process.env['ALL']) break
    }
  }
  const [first] = failed
  expect(
    first && new Error(`Seeds ${failed.map(({ seed }) => seed).join(', ')} failed; the first: ${first.error}`),
  ).toBeUndefined()
})
