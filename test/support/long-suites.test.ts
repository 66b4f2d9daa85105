/** Which int suites a check leaves out. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { FILES } from './files.ts'
import { LONG_SUITES, leftOut } from './long-suites.ts'

const COMMAND = ['run', '--config', 'test/vitest.config.ts']

describe('a check', () => {
  afterEach(() => vi.unstubAllEnvs())

  test.skipIf(process.env['SOAK'] === '1')('leaves out some of the long suites, others in each run', () => {
    vi.stubEnv('SUITES', '')
    vi.stubEnv('DRAW', '1')
    const some = leftOut(COMMAND)
    expect(some.length).toBeGreaterThan(0)
    expect(some.length).toBeLessThan(LONG_SUITES.length)
    vi.stubEnv('DRAW', '2')
    expect(leftOut([...COMMAND, '--project', 'int'])).not.toEqual(some)
  })

  test('draws none where only the quick tests run', () => {
    expect(leftOut([...COMMAND, '--project', 'quick'])).toEqual([])
  })

  test('runs all that a path asks for, or `SUITES=all`', () => {
    expect(leftOut([...COMMAND, 'page'])).toEqual([])
    vi.stubEnv('SUITES', 'all')
    expect(leftOut(COMMAND)).toEqual([])
  })

  test('knows its long suites by files that exist', () => {
    expect(LONG_SUITES.filter((file) => !FILES.includes(file))).toEqual([])
  })
})
