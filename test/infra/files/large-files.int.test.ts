/** Files of a few kilobytes that unpack to more than an engine may take. */
import { createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Engine, startEngine } from '../../../infra/clickhouse/engine/engine.ts'
import { temporaryFolder } from '../../support/candlepool.ts'
import { withoutClickHouse } from '../../support/clickhouse.ts'
import { type FileReading, FROM, openFileReading, TO } from '../../support/file-reading.ts'

const GIB = 1024 ** 3

describe.skipIf(withoutClickHouse)('a file that unpacks to gigabytes', () => {
  let files: FileReading
  let temporary: Awaited<ReturnType<typeof temporaryFolder>>
  /** The other suites' engine has to keep its memory. */
  let engine: Engine

  beforeAll(async () => {
    files = await openFileReading()
    temporary = await temporaryFolder()
    engine = await startEngine({ dataDir: temporary.path, memoryLimitBytes: GIB })
  })
  afterAll(async () => {
    await engine?.stop()
    await temporary?.remove()
    await files?.close()
  })

  /** In small pieces, since the engine that writes them unpacks them as well. */
  async function writeBomb(path: string, { rows, bytes }: { rows: number; bytes: number }): Promise<void> {
    const columns = [
      `toUInt32(${FROM}) AS block_number, toUInt32(number) AS log_index, toUInt64(1) AS chain_id`,
      `unhex(repeat('ab', 32)) AS transaction_hash, unhex(repeat('ab', 20)) AS address`,
      ...[0, 1, 2, 3].map((place) => `unhex(repeat('ab', 32)) AS topic${place}`),
      `repeat('a', ${bytes}) AS data`,
    ]
    const { stream } = await files.database.client.exec({
      query: `SELECT ${columns.join(', ')} FROM numbers(${rows}) FORMAT Parquet`,
      clickhouse_settings: {
        output_format_parquet_string_as_string: 0,
        output_format_parquet_row_group_size_bytes: String(16 * 1024 * 1024),
        max_block_size: '16',
        max_threads: 1,
      },
    })
    await pipeline(stream, createWriteStream(path))
  }

  test('is blamed by its name, and the engine answers further questions', async () => {
    const folder = await files.write()
    const name = `ethereum__logs__${FROM}_to_${TO}.parquet`
    await writeBomb(join(folder, name), { rows: 2_000, bytes: 1_000_000 })
    expect((await stat(join(folder, name))).size).toBeLessThan(1024 * 1024)
    const server = { url: engine.url, ...engine.users.owner }
    await expect(files.read(folder, { server })).rejects.toThrow(
      `${name} takes too much memory: write smaller files with a smaller --chunk-size.`,
    )
    expect((await files.read(await files.write(), { server }))[0]?.logs.length).toBe(files.rows.logs.length)
  })
})
