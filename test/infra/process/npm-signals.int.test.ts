/** `kill -TERM` of npm's own process ends what `npm start` runs. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { VARIABLES } from '../../../infra/config/config.ts'
import { temporaryFolder } from '../../support/candlepool.ts'
import { withoutClickHouse } from '../../support/clickhouse.ts'
import { ROOT } from '../../support/files.ts'
import { until } from '../../support/until.ts'

describe.skipIf(withoutClickHouse || process.env['CLICKHOUSE_URL'] !== undefined)('npm start', () => {
  test('stops in order where its npm gets a SIGTERM', async ({ onTestFinished }) => {
    const folder = await temporaryFolder()
    onTestFinished(folder.remove)
    const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !VARIABLES.includes(name)))
    const npm = spawn('npm', ['start'], {
      cwd: ROOT,
      env: { ...clean, DATA_DIR: folder.path, PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own: what is left of it after a failure can be ended.
      detached: true,
    })
    const group = -(npm.pid ?? 0)
    onTestFinished(() => {
      try {
        process.kill(group, 'SIGKILL')
      } catch {
        // Nothing is left.
      }
    })
    let printed = ''
    for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (text) => (printed += text))
    const url = await until(async () => /API {3}(\S+)\/v0\n/.exec(printed)?.[1], 'it is ready')
    const ended = once(npm, 'exit')
    npm.kill('SIGTERM')
    await ended
    await until(async () => {
      const answer = await fetch(`${url}/v0/health`).catch(() => undefined)
      return answer === undefined || undefined
    }, 'the service has ended')
    expect(printed).toMatch(/stopping|Stopping/)
    // No process of the group is left.
    await until(async () => {
      try {
        process.kill(group, 0)
        return undefined
      } catch {
        return true
      }
    }, 'all of its processes have ended')
  })
})
