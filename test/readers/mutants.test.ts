import { expect, test } from 'vitest'
import { MUTANTS, mutated } from './mutants.ts'

// They are planted each night only: a change of the sources must not leave one without its place until then.
test.each(MUTANTS)('the fault "$name" can be planted in the sources of today', async (mutant) => {
  expect(await mutated(mutant)).toContain(mutant.to)
})
