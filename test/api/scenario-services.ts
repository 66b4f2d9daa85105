/** Services over tables that have the scenario, for the tests of one suite. */
import { afterAll, beforeAll } from 'vitest'
import { freshDatabase, type TestDatabase } from '../support/clickhouse.ts'
import { NETWORKS_SERVED, storeScenario, TIP } from './scenario.ts'
import { type Service, startService } from './service.ts'

type Options = Partial<Parameters<typeof startService>[0]>

export type ScenarioServices = {
  /** From the first hook of the suite on. */
  readonly database: TestDatabase
  /** The service stops after the suite at the latest. */
  start(options?: Options): Promise<Service>
}

/** Registers hooks of the suite. The clock stands 10 s after the scenario's tip where none is given. */
export function scenarioServices(clock = () => new Date((TIP + 10) * 1000)): ScenarioServices {
  let database: TestDatabase | undefined
  const services: Service[] = []

  function stored(): TestDatabase {
    if (database === undefined) throw new Error('The scenario is stored in a hook of the suite, which has not run.')
    return database
  }

  beforeAll(async () => {
    database = await freshDatabase()
    await storeScenario(database.client)
  })
  afterAll(async () => {
    for (const service of services) await service.stop()
    await database?.drop()
  })
  return {
    get database() {
      return stored()
    },
    async start(options) {
      const service = await startService({ client: stored().client, networks: NETWORKS_SERVED, clock, ...options })
      services.push(service)
      return service
    },
  }
}
