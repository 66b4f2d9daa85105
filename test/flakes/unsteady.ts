/** Tests that failed in some of several runs of the same suites. */
import type { VitestReport } from '../support/vitest-report.ts'

/** `message`: the first line of the last failure. */
export type UnsteadyTest = { name: string; failures: number; message: string }

/** The most frequent failures first. A file that did not load, or failed outside of its tests, counts as a test. */
export function unsteadyIn(runs: readonly Pick<VitestReport, 'testResults'>[]): readonly UnsteadyTest[] {
  const found = new Map<string, UnsteadyTest>()
  const add = (name: string, message: string) =>
    found.set(name, { name, failures: (found.get(name)?.failures ?? 0) + 1, message: message.split('\n')[0] ?? '' })
  for (const { name: path, status, message, assertionResults } of runs.flatMap(({ testResults }) => testResults)) {
    const file = path.slice(path.lastIndexOf('/test/') + 1)
    const failed = assertionResults.filter((test) => test.status === 'failed')
    for (const { fullName, failureMessages } of failed) add(`${file}: ${fullName}`, failureMessages?.[0] ?? '')
    if (status === 'failed' && failed.length === 0) add(file, message)
  }
  return [...found.values()].sort((one, other) => other.failures - one.failures)
}
