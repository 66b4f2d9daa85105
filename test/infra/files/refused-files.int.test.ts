/** Files that contradict themselves, their names or the chain: each is refused with the name of the file and the place. */
import { appendFile, readFile, rm, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withoutClickHouse } from '../../support/clickhouse.ts'
import type { CryoRow } from '../../support/cryo-files.ts'
import { type FileReading, FROM, openFileReading, TO, withRow } from '../../support/file-reading.ts'

const BLOCKS = TO - FROM + 1
const LOGS_FILE = `ethereum__logs__${FROM}_to_${TO}.parquet`
const BLOCKS_FILE = `ethereum__blocks__${FROM}_to_${TO}.parquet`
const OTHER_HASH: Hex = `0x${'ab'.repeat(32)}`

describe.skipIf(withoutClickHouse)('files of cryo', () => {
  let files: FileReading
  let logs: readonly CryoRow[]
  let blocks: readonly CryoRow[]

  beforeAll(async () => {
    files = await openFileReading()
    ;({ logs, blocks } = files.rows)
  })
  afterAll(() => files?.close())

  async function refusal(written: Parameters<FileReading['write']>[0], options?: Parameters<FileReading['read']>[1]) {
    return refusalOf(await files.write(written), options)
  }

  async function refusalOf(folder: string, options?: Parameters<FileReading['read']>[1]): Promise<string> {
    const ended = await files.read(folder, options).catch((error: Error) => error)
    if (!(ended instanceof Error)) throw new Error(`It was not refused: ${ended.length} ranges.`)
    return `${ended.name}: ${ended.message}`
  }

  test('without a fault are read whole', async () => {
    const ranges = await files.read(await files.write(), { proofShare: 1 })
    expect(ranges.map(({ from, to }) => [from, to])).toEqual([[FROM, TO]])
    expect(ranges[0]?.logs.length).toBe(logs.length)
    expect(logs.length).toBeGreaterThan(15)
  })

  describe('with a faulty log', () => {
    const rowOf = (place: number) => logs.at(place) as Record<string, number>
    const placeOf = (place: number) => `log ${rowOf(place)['log_index']} of block ${rowOf(place)['block_number']}`

    test.each<[string, (own: readonly CryoRow[]) => CryoRow[], (place: typeof placeOf) => string]>([
      ['of another chain', (own) => withRow(own, 3, { chain_id: 137 }), (place) => `${place(3)} is of chain 137.`],
      [
        'of a block beside those of the name',
        (own) => withRow(own, -1, { block_number: TO + 1 }),
        () => `of block ${TO + 1} is not of the blocks in the name of the file.`,
      ],
      ['that comes twice', (own) => own.toSpliced(4, 0, own[4] ?? {}), (place) => `${place(4)} is there twice.`],
      [
        'out of order',
        (own) => own.with(3, own[4] ?? {}).with(4, own[3] ?? {}),
        (place) => `${place(3)} is out of order.`,
      ],
      [
        'of an earlier block',
        (own) => [...own.slice(5), ...own.slice(0, 5)],
        (place) => `${place(0)} is out of order.`,
      ],
      [
        'with a short address',
        (own) => withRow(own, 3, { address: '0xabcd' }),
        (place) => `${place(3)} has a transaction or an address of another length.`,
      ],
      [
        'with a short transaction',
        (own) => withRow(own, 3, { transaction_hash: '0xabcd' }),
        (place) => `${place(3)} has a transaction or an address of another length.`,
      ],
      [
        'with a long topic',
        (own) => withRow(own, 3, { topic1: `${OTHER_HASH}ab` }),
        (place) => `${place(3)} has a topic of another length.`,
      ],
      [
        'with a topic after none',
        (own) => withRow(own, 3, { topic1: null }),
        (place) => `${place(3)} has a topic after one that is missing.`,
      ],
      [
        'of another contract than its block has',
        (own) => withRow(own, 3, { address: `0x${'77'.repeat(20)}` }),
        () => 'has a log that is not in the bloom of its header.',
      ],
      [
        'of another event than its block has',
        (own) => withRow(own, 3, { topic0: '0x7a53080ba414158be7ec69b987b5fb7d07dee101fe85488f0853ae16239d0bde' }),
        () => 'has a log that is not in the bloom of its header.',
      ],
    ])('%s', async (_, change, fault) => {
      const said = await refusal({ logs: change(logs) })
      expect(said).toContain(`SourceRefused: ${LOGS_FILE}: `)
      expect(said).toContain(fault(placeOf))
    })

    test('of more than a block takes', async () => {
      const as = {
        data: `if(log_index = ${rowOf(3)['log_index']}, arrayStringConcat(arrayMap(x -> repeat('a', 1000000), range(17))), 'b')`,
      }
      const said = await refusal({ as })
      expect(said).toContain(`${placeOf(3)} has more data than a block takes.`)
    })
    test('with an index that no log has', async () => {
      const as = { log_index: `log_index + 4294967296` }
      expect(await refusal({ as })).toContain('has an index that no log has.')
    })
  })

  test.each(['block_number', 'log_index', 'chain_id', 'transaction_hash', 'address', 'data'])(
    'with a log without its %s are refused, and not read as zero',
    async (name) => {
      const said = await refusal({ logs: withRow(logs, 3, { [name]: null }) })
      expect(said).toContain(`SourceRefused: ${LOGS_FILE} cannot be read: `)
      expect(said).toContain(name)
    },
  )

  test.each(['block_number', 'chain_id', 'timestamp', 'block_hash'])(
    'with a header without its %s are refused, and not read as zero',
    async (name) => {
      const said = await refusal({ blocks: withRow(blocks, 3, { [name]: null }) })
      expect(said).toContain(`SourceRefused: ${BLOCKS_FILE} cannot be read: `)
      expect(said).toContain(name)
    },
  )

  describe('with a faulty header', () => {
    test.each<[string, (own: readonly CryoRow[]) => CryoRow[], string]>([
      ['of another chain', (own) => withRow(own, 3, { chain_id: 137 }), `block ${FROM + 3} is of chain 137.`],
      [
        'of a block beside those of the name',
        (own) => withRow(own, -1, { block_number: TO + 1 }),
        `block ${TO + 1} is not of the blocks in the name of the file.`,
      ],
      ['that is missing', (own) => own.toSpliced(3, 1), `has block ${FROM + 4} in the place of block ${FROM + 3}.`],
      ['that comes twice', (own) => own.toSpliced(3, 0, own[3] ?? {}), `has block ${FROM + 3} in the place of block`],
      ['that is missing at the end', (own) => own.slice(0, -1), `lacks block ${TO}.`],
      ['whose name is of more blocks', (own) => own.slice(0, BLOCKS - 5), `lacks block ${TO - 4}.`],
      [
        'with a short hash',
        (own) => withRow(own, 3, { block_hash: '0xab' }),
        `block ${FROM + 3} has a hash of another length.`,
      ],
      [
        'with a parent without bytes',
        (own) => withRow(own, 3, { parent_hash: '0x' }),
        `block ${FROM + 3} has a hash of another length.`,
      ],
      [
        'with a short bloom',
        (own) => withRow(own, 3, { logs_bloom: '0xff' }),
        `block ${FROM + 3} has a bloom of another length.`,
      ],
      [
        'with another parent',
        (own) => withRow(own, 3, { parent_hash: OTHER_HASH }),
        `the parent of block ${FROM + 3} is not block ${FROM + 2} of the files.`,
      ],
      [
        'older than its parent',
        (own) => withRow(own, 3, { timestamp: Number(own[2]?.['timestamp']) - 1 }),
        'which no block after its parent has.',
      ],
      [
        'of a year that is far away',
        (own) => withRow(own, -1, { timestamp: 4_294_967_295 }),
        'which no block after its parent has.',
      ],
      [
        'with another hash at its end',
        (own) => withRow(own, -1, { block_hash: OTHER_HASH }),
        `the blocks are of another chain: block ${TO} is ${OTHER_HASH} there and `,
      ],
      [
        'with another time at its end',
        (own) => withRow(own, -1, { timestamp: Number(own.at(-1)?.['timestamp']) + 1 }),
        `block ${TO} has the time `,
      ],
    ])('%s', async (_, change, fault) => {
      const said = await refusal({ blocks: change(blocks) })
      expect(said).toContain(`SourceRefused: ${BLOCKS_FILE}`)
      expect(said).toContain(fault)
    })

    test('at the border of two files', async () => {
      const folder = await files.makeFolder()
      const half = FROM + 10
      const within = (from: number, to: number) => (row: CryoRow) =>
        Number(row['block_number']) >= from && Number(row['block_number']) <= to
      const others = withRow(blocks, half - FROM, { parent_hash: OTHER_HASH })
      for (const [from, to] of [
        [FROM, half - 1],
        [half, TO],
      ] as const) {
        const own = { logs: logs.filter(within(from, to)), blocks: others.filter(within(from, to)) }
        await files.writeInto(folder, { ...own, from, to })
      }
      expect(await refusalOf(folder)).toContain(`the parent of block ${half} is not block ${half - 1} of the files.`)
    })
  })

  describe('with the logs of other blocks than the chain has', () => {
    const lastOf = (row: CryoRow) => String(row['data'])
    test.each<[string, (own: readonly CryoRow[]) => CryoRow[]]>([
      ['lacks a swap', (own) => own.toSpliced(3, 1)],
      ['has a swap more', (own) => own.toSpliced(4, 0, { ...own[3], log_index: Number(own[3]?.['log_index']) + 1 })],
      [
        'has a swap of another price',
        (own) => withRow(own, 3, { data: `${lastOf(own[3] ?? {}).slice(0, -1)}1` as Hex }),
      ],
      ['has a swap with less data', (own) => withRow(own, 3, { data: lastOf(own[3] ?? {}).slice(0, -2) as Hex })],
      ['has a swap of another transaction', (own) => withRow(own, 3, { transaction_hash: OTHER_HASH })],
    ])('a file that %s is refused by the proof of its receipts', async (_, change) => {
      const block = logs[3]?.['block_number']
      expect(await refusal({ logs: change(logs) }, { proofShare: 1 })).toContain(
        `SourceRefused: ${LOGS_FILE}: the logs of block ${block} are not those of the chain: `,
      )
    })

    test('a file without the swaps of a block whose bloom may have some is refused without a proof', async () => {
      const block = logs[3]?.['block_number']
      const rest = logs.filter((row) => row['block_number'] !== block)
      expect(await refusal({ logs: rest })).toContain(`the logs of block ${block} are not those of the chain: 0 in the`)
    })

    test('a header of another time is refused by the proof', async () => {
      const later = withRow(blocks, 3, { timestamp: Number(blocks[3]?.['timestamp']) + 1 })
      expect(await refusal({ blocks: later }, { proofShare: 1 })).toContain(
        `the header of block ${FROM + 3} is not that of the chain.`,
      )
    })
  })

  describe('whose bytes are no such file', () => {
    const command = `cryo logs --blocks ${FROM}:${TO + 1} --output-dir`

    async function withLogsFile(change: (path: string) => Promise<void>): Promise<string> {
      const folder = await files.write()
      await change(join(folder, LOGS_FILE))
      return refusalOf(folder)
    }

    test.each<[string, (path: string) => Promise<void>, string]>([
      ['cut off', (path) => truncate(path, 2_000), 'is no Parquet file, or is cut off.'],
      ['a text', (path) => writeFile(path, 'block_number,address\n'.repeat(100)), 'is no Parquet file, or is cut off.'],
      ['empty', (path) => truncate(path, 0), 'is no Parquet file, or is cut off.'],
      ['a footer of others', (path) => appendFile(path, 'xxxx\u0004\0\0\0PAR1'), 'has a footer that cannot be read.'],
      [
        'a footer longer than the file',
        (path) => appendFile(path, '\u00ff\u00ff\u00ff\u00ffPAR1'),
        'is no Parquet file, or is cut off.',
      ],
      ['too large', (path) => truncate(path, 256 * 1024 * 1024 + 1), 'has 257 MiB, and a file may have 256:'],
    ])('%s', async (_, change, fault) => {
      const said = await withLogsFile(change)
      expect(said).toContain(`--files: ${LOGS_FILE} ${fault}`)
      expect(said).toContain(command)
    })

    test('with other bytes in a page are blamed by name', async () => {
      const folder = await files.write()
      const path = join(folder, LOGS_FILE)
      const bytes = await readFile(path)
      bytes.fill(0xa5, 40, 400)
      await writeFile(path, bytes)
      expect(await refusalOf(folder)).toContain(`SourceRefused: ${LOGS_FILE} cannot be read: `)
    })

    test.each<[string, (path: string) => Promise<unknown>]>([
      ['longer', (path) => appendFile(path, 'PAR1')],
      ['of another time', (path) => utimes(path, 1_000, 1_000)],
      ['removed', (path) => rm(path)],
    ])('%s than when they were checked', async (_, change) => {
      const folder = await files.write()
      const said = await refusalOf(folder, { between: () => change(join(folder, LOGS_FILE)) })
      expect(said).toContain(`SourceRefused: ${LOGS_FILE} has changed since it was checked: run the command again.`)
    })
  })

  describe('with other columns', () => {
    test('are refused before they are read, with the command that writes them', async () => {
      const said = await refusal({ without: ['topic3', 'data', 'timestamp'] })
      expect(said.split('\n')).toEqual([
        expect.stringMatching(
          `${LOGS_FILE} lacks the columns topic3, data\\. cryo logs --blocks ${FROM}:${TO + 1} .* --overwrite$`,
        ),
        expect.stringMatching(
          `${BLOCKS_FILE} lacks the columns timestamp\\. cryo blocks .*--include-columns parent_hash logs_bloom`,
        ),
      ])
    })

    test('that only checks use are read without them', async () => {
      const ranges = await files.read(await files.write({ without: ['parent_hash', 'logs_bloom'] }))
      expect(ranges[0]?.logs.length).toBe(logs.length)
    })

    test('of hex texts are refused', async () => {
      expect(await refusal({ hex: true })).toContain(
        `${LOGS_FILE} has hex texts, and bytes are read: write it without --hex.`,
      )
    })

    test.each<[string, string, string]>([
      ['block_number', 'toString(block_number)', 'a text'],
      ['block_number', 'toFloat64(block_number)', 'a floating-point number'],
      ['log_index', '[log_index]', 'a list'],
      ['data', '77', 'a number'],
      ['topic0', '(topic0, 1)::Tuple(topic0 Nullable(String), other UInt8)', 'a tuple'],
    ])('of another type are refused: %s as %s', async (name, sql) => {
      const said = await refusal({ as: { [name]: sql } })
      expect(said).toMatch(new RegExp(`${LOGS_FILE} (has other types in|lacks) the columns ${name}\\. cryo logs`))
    })
  })
})
