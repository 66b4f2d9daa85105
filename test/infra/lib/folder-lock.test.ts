import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockFolder } from '../../../infra/lib/folder-lock.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'candlepool-lock-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

test('a locked folder is refused with the process that holds it, until that releases it', async () => {
  const lock = await lockFolder(folder)
  await expect(lockFolder(folder)).rejects.toThrow(
    `the data folder ${folder} is in use by process ${process.pid}: stop that one, or set another DATA_DIR`,
  )
  await lock.release()
  await (await lockFolder(folder)).release()
  expect(await readdir(join(folder, 'locks'))).toEqual([])
})

test('at most one of many takers at once has the lock', async () => {
  for (let round = 0; round < 5; round++) {
    const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => lockFolder(folder)))
    const locks = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
    expect(locks.length).toBeLessThanOrEqual(1)
    for (const lock of locks) await lock.release()
  }
})

test('a killed process holds nothing, not even where its number was given out again', async () => {
  const lockFile = join(import.meta.dirname, '../../../infra/lib/folder-lock.ts')
  const script = join(folder, 'holder.mts')
  await writeFile(
    script,
    `import { lockFolder } from ${JSON.stringify(lockFile)}
     await lockFolder(${JSON.stringify(folder)})
     console.log('locked')
     setInterval(() => undefined, 1_000)`,
  )
  const holder = spawn(process.execPath, ['--import', 'tsx', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(holder.stdout, 'data')
  await expect(lockFolder(folder)).rejects.toThrow(`in use by process ${holder.pid}`)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  // A living process that began at another time.
  if (process.platform === 'linux') await writeFile(join(folder, 'locks', `${process.pid}-1-00000000`), '')
  const lock = await lockFolder(folder)
  expect(await readdir(join(folder, 'locks'))).toHaveLength(1)
  await lock.release()
})
