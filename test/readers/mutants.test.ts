import { expect, test } from 'vitest'
import { mutated } from '../mutants/plant.ts'
import { READER_MUTANTS } from './mutants.ts'

// They are planted each night only: a change of the sources must not leave one without its place until then.
test.each(READER_MUTANTS)('the fault "$name" can be planted in the sources of today', async (mutant) => {
  expect(await mutated(mutant)).toContain(mutant.to)
})
