/** Failures of repeated runs are counted by test. */
import { expect, test } from 'vitest'
import { unsteadyIn } from './unsteady.ts'

const runOf = (...failed: string[]) => ({
  testResults: [
    {
      name: '/checkout/test/api/one.int.test.ts',
      status: failed.length === 0 ? 'passed' : 'failed',
      message: '',
      assertionResults: ['is fast', 'is right'].map((fullName) =>
        failed.includes(fullName)
          ? { status: 'failed', fullName, failureMessages: [`Error: ${fullName}\n  at a line`] }
          : { status: 'passed', fullName },
      ),
    },
  ],
})

test('a test that failed in two of three runs comes before one that failed in one of them', () => {
  const runs = [runOf('is fast', 'is right'), runOf(), runOf('is right')]
  expect(unsteadyIn(runs)).toEqual([
    { name: 'test/api/one.int.test.ts: is right', failures: 2, message: 'Error: is right' },
    { name: 'test/api/one.int.test.ts: is fast', failures: 1, message: 'Error: is fast' },
  ])
})

test('a file that does not load counts as a failure', () => {
  const broken = { name: '/x/test/a.test.ts', status: 'failed', message: 'no module b\nat c', assertionResults: [] }
  expect(unsteadyIn([{ testResults: [broken] }])).toEqual([
    { name: 'test/a.test.ts', failures: 1, message: 'no module b' },
  ])
})
