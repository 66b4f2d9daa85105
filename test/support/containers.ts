/** Whether the servers of a run come in containers, and how one is started. */
import type { GenericContainer, StartedTestContainer } from 'testcontainers'

/** `npm run test:containers` says so. */
export const inContainers: boolean = process.env['SERVERS'] === 'containers'

/** On a busy machine a broker takes most of a minute. */
const START_TIMEOUT_MS = 180_000

/** Says which image it is that can't be pulled or does not start. */
export function startImage(image: string, container: GenericContainer): Promise<StartedTestContainer> {
  return container
    .withStartupTimeout(START_TIMEOUT_MS)
    .start()
    .catch((cause: unknown) => {
      throw new Error(`the Docker engine could not start ${image}`, { cause })
    })
}
