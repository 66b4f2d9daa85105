/** `npm run test:containers`: the int suites on containers of ClickHouse and Kafka, and the cluster of infra/compose.yaml. */
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { getContainerRuntimeClient } from 'testcontainers'

if (process.argv.includes('--help')) {
  console.log('Usage: npm run test:containers [-- PATH…]\n\nExample:\n  npm run test:containers -- test/tour')
  process.exit(0)
}
const engine = await getContainerRuntimeClient().catch(() => undefined)
if (engine) {
  const vitest = join(createRequire(import.meta.url).resolve('vitest/package.json'), '../vitest.mjs')
  const args = [vitest, 'run', '--config', 'test/vitest.config.ts', '--project', 'int', ...process.argv.slice(2)]
  const { status } = spawnSync(process.execPath, args, {
    stdio: 'inherit',
    env: { ...process.env, SERVERS: 'containers' },
  })
  process.exitCode = status ?? 1
} else console.log('No Docker engine answers, so nothing was tested in containers.')
