/** Programs whose output has lost its reader. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')

/** Its reader is gone before it prints. */
async function runUnread(...args: readonly string[]): Promise<{ code: number; complaint: string }> {
  const child = spawn(process.execPath, ['--import', 'tsx', ...args], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text
  })
  const [code] = await once(child, 'close')
  return { code, complaint }
}

test.each(['infra/bin/candlepool.ts --help', 'infra/package/licenses.ts'])(
  '%s exits without an error message',
  async (command) => {
    expect(await runUnread(...command.split(' '))).toEqual({ code: 141, complaint: '' })
  },
)

test('a service continues', async () => {
  const service = `
    import { setTimeout as sleep } from 'node:timers/promises'
    import { runProcess } from './infra/process/run.ts'
    await runProcess(async () => {
      process.stdout.write('ready')
      await sleep(100)
      process.stderr.write('still there')
    })`
  expect(await runUnread('--input-type=module', '--eval', service)).toEqual({ code: 0, complaint: 'still there' })
})
