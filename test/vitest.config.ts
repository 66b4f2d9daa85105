/** Two projects: `quick` needs nothing but Node; `int` runs against the real ClickHouse engine, Kafka and anvil. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: `${import.meta.dirname}/..`,
  test: {
    // Half of what an int suite takes is waiting, so a third one has the processors meanwhile.
    maxWorkers: 3,
    // Modules are loaded once a worker: a sixth of the processors' time of a check went into loading them for each file.
    isolate: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'quick',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.int.test.ts', 'test/tour/**'],
          testTimeout: 20_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'int',
          include: ['test/**/*.int.test.ts', 'test/tour/**/*.test.ts'],
          globalSetup: ['test/support/servers.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
