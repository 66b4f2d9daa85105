/** Two projects: `quick` needs nothing but Node; `int` runs against the real ClickHouse engine, Kafka and anvil. */
import { defineConfig } from 'vitest/config'
import { leftOut } from './support/long-suites.ts'
import { WAIT_MS } from './support/until.ts'

export default defineConfig({
  root: `${import.meta.dirname}/..`,
  test: {
    // Half of what an int suite takes is waiting, so a third one has the processors meanwhile.
    maxWorkers: 3,
    // These end what hangs, and no test asks for less.
    testTimeout: 3 * WAIT_MS,
    hookTimeout: 3 * WAIT_MS,
    expect: { poll: { timeout: WAIT_MS } },
    projects: [
      {
        extends: true,
        test: {
          name: 'quick',
          // Modules are loaded once a worker, not for each file. What an int suite leaves at work would run beside the next ones.
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.int.test.ts', 'test/tour/**'],
        },
      },
      {
        extends: true,
        test: {
          name: 'int',
          include: ['test/**/*.int.test.ts', 'test/tour/**/*.test.ts'],
          exclude: [...leftOut(process.argv.slice(2))],
          globalSetup: ['test/support/servers.ts'],
        },
      },
    ],
  },
})
