import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { syncOf } from '../../../infra/clickhouse/disk.ts'

test.skipIf(process.platform !== 'linux')(
  'a folder is synced as long as it is there, and what is not there is no disk',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'candlepool-disk-'))
    const sync = await syncOf(folder)
    if (!sync) throw new Error('There is a call that syncs a file system.')
    await sync()
    await rm(folder, { recursive: true })
    await expect(sync()).rejects.toThrow(folder)
    expect(await syncOf(folder)).toBeUndefined()
  },
)
