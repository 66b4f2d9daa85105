/** Files that are read ahead of the one that is processed. */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { withoutClickHouse } from '../../support/clickhouse.ts'
import { type FileReading, FROM, openFileReading, TO } from '../../support/file-reading.ts'

describe.skipIf(withoutClickHouse)('files of a history', () => {
  let files: FileReading

  beforeAll(async () => {
    files = await openFileReading()
  })
  afterAll(() => files?.close())
  afterEach(() => {
    vi.restoreAllMocks()
  })

  test('at most four files are open, however many there are', async () => {
    const folder = await files.makeFolder()
    for (let number = FROM; number <= TO; number++) {
      const ofBlock = ({ block_number }: Readonly<Record<string, unknown>>) => Number(block_number) === number
      const [logs, blocks] = [files.rows.logs.filter(ofBlock), files.rows.blocks.filter(ofBlock)]
      await files.writeInto(folder, { logs, blocks, from: number, to: number })
    }
    const asked: string[] = []
    const send = globalThis.fetch
    vi.spyOn(globalThis, 'fetch').mockImplementation((address, options) => {
      if (String(address).includes('max_data')) asked.push(String(address))
      return send(address, options)
    })
    const open: number[] = []
    const ranges = await files.read(folder, { onRange: async (count) => void open.push(asked.length - count) })
    expect(ranges.map(({ from, to }) => [from, to])).toEqual(
      Array.from({ length: TO - FROM + 1 }, (_, index) => [FROM + index, FROM + index]),
    )
    expect(asked).toHaveLength(ranges.length)
    expect(Math.max(...open)).toBe(4)
  })
})
