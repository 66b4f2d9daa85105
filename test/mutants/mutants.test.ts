import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { MUTANTS } from './mutants.ts'
import { mutated } from './plant.ts'

// They are planted each night only: a change of the sources must not leave one without its place until then.
test.each(MUTANTS)('the fault "$name" can be planted in the sources of today', async (mutant) => {
  expect(await mutated(mutant)).toContain(mutant.to)
  expect(mutant.suites.filter((suite) => !existsSync(suite))).toEqual([])
})

test('no two faults have one name', () => {
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length)
})
