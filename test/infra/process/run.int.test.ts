/** Errors that no code catches: the process stops in order, and prints them without secrets. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runNode, temporaryFolder } from '../../support/candlepool.ts'
import { ROOT } from '../../support/files.ts'

const SECRET = 'a1b2c3d4e5f6a7b8'
const URL_WITH_SECRET = `https://node.example/v2/${SECRET}`

/** A process that runs `statement`, and prints a line once it has stopped. */
const program = (statement: string) => `
  import { runProcess } from './infra/process/run.ts'
  await runProcess(async ({ signal }) => {
    const open = setInterval(() => undefined, 1_000)
    ${statement}
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    await new Promise((resolve) => setTimeout(resolve, 50))
    clearInterval(open)
    console.log('all parts have stopped')
  })`

describe('a process with an error that no code catches', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  beforeAll(async () => {
    folder = await temporaryFolder()
  })
  afterAll(async () => {
    await folder?.remove()
  })

  test.each([
    ['a rejection', `void Promise.reject(new Error('failed at ${URL_WITH_SECRET} key ${SECRET}'))`],
    ['an exception', `setTimeout(() => { throw new Error('failed at ${URL_WITH_SECRET} key ${SECRET}') })`],
    [
      'a rejection during the stop',
      `process.on('SIGTERM', () => void Promise.reject(new Error('failed at ${URL_WITH_SECRET} key ${SECRET}')))
       setTimeout(() => process.kill(process.pid, 'SIGTERM'))`,
    ],
  ])('stops in order after %s, exits with 1, and prints no secret', async (_, statement) => {
    const environment = { ETHEREUM_RPC_URL: URL_WITH_SECRET, DATA_DIR: folder.path }
    const process = runNode(['--import', 'tsx', '--input-type=module', '--eval', program(statement)], environment, ROOT)
    expect(await Promise.race([process.exited, sleep(30_000, 'still running')])).toBe(1)
    expect(process.output()).toContain('all parts have stopped')
    expect(process.output()).toContain('failed at https://node.example')
    expect(process.output()).not.toContain(SECRET)
  })

  test('prints no secret in a command either', async () => {
    const command = `
      import { runCommand } from './infra/process/command.ts'
      await runCommand(async () => {}, () => setTimeout(() => { throw new Error('failed at ${URL_WITH_SECRET}') }))`
    const process = runNode(
      ['--import', 'tsx', '--input-type=module', '--eval', command],
      { DATA_DIR: folder.path },
      ROOT,
    )
    expect(await Promise.race([process.exited, sleep(30_000, 'still running')])).toBe(1)
    expect(process.output()).toContain('failed at https://node.example')
    expect(process.output()).not.toContain(SECRET)
  })
})
