/** Whether the servers of a run come in containers, and how one is started. */
import type { GenericContainer, StartedTestContainer } from 'testcontainers'

/** `npm run test:containers` says so. */
export const inContainers: boolean = process.env['SERVERS'] === 'containers'

/** Says which image it is that can't be pulled or does not start. */
export function startImage(image: string, container: GenericContainer): Promise<StartedTestContainer> {
  return container.start().catch((cause: unknown) => {
    throw new Error(`the Docker engine could not start ${image}`, { cause })
  })
}
