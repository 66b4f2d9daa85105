/** Files of a folder: which ones are taken, and which folders are refused. */
import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  type CryoFolder,
  cryoCommand,
  listCryoFiles,
  overlapping,
  rangeOfFiles,
  requireWhole,
} from '../../../infra/files/cryo-files.ts'
import { printable } from '../../../infra/lib/output.ts'
import { temporaryFolder } from '../../support/candlepool.ts'

let temporary: Awaited<ReturnType<typeof temporaryFolder>>
let folder: string

beforeEach(async () => {
  temporary = await temporaryFolder()
  folder = join(temporary.path, 'cryo')
  await mkdir(folder)
})
afterEach(() => temporary.remove())

async function withFiles(...names: string[]): Promise<CryoFolder> {
  for (const name of names) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), 'PAR1')
  }
  return listCryoFiles(folder)
}

const namesOf = ({ logs, blocks }: CryoFolder) => [logs, blocks].map((files) => files.map(({ name }) => name))

describe('the files of a folder', () => {
  test('are those of cryo, in the order of their blocks, from its subfolders too', async () => {
    const files = await withFiles(
      'ethereum__logs__00000020_to_00000029.parquet',
      'a/ethereum__logs__00000010_to_00000019.parquet',
      'ethereum__blocks__label__10_to_29.parquet',
      'ethereum__logs__00000030_to_00000039.csv',
      'ethereum__transactions__00000010_to_00000019.parquet',
      '.cryo/reports/report.json',
    )
    expect(namesOf(files)).toEqual([
      ['a/ethereum__logs__00000010_to_00000019.parquet', 'ethereum__logs__00000020_to_00000029.parquet'],
      ['ethereum__blocks__label__10_to_29.parquet'],
    ])
    expect(files.logs[0]).toMatchObject({ from: 10, to: 19, bytes: 4 })
    expect(rangeOfFiles(files)).toEqual({ from: 10, to: 29 })
  })

  test('have the kind that their own names say, whatever their folders are called', async () => {
    const files = await withFiles('eth__logs__/ethereum__blocks__1_to_2.parquet')
    expect(namesOf(files)).toEqual([[], ['eth__logs__/ethereum__blocks__1_to_2.parquet']])
  })

  test('include links to files, and no link to a folder, which may lead in a circle', async () => {
    const kept = join(temporary.path, 'kept')
    await mkdir(kept)
    await writeFile(join(kept, 'ethereum__logs__1_to_2.parquet'), 'PAR1')
    await symlink(join(kept, 'ethereum__logs__1_to_2.parquet'), join(folder, 'ethereum__logs__1_to_2.parquet'))
    await symlink(kept, join(folder, 'kept'))
    await symlink('..', join(folder, 'above'))
    expect(namesOf(await listCryoFiles(folder))).toEqual([['ethereum__logs__1_to_2.parquet'], []])
  })

  test('are no folders', async () => {
    await mkdir(join(folder, 'ethereum__logs__1_to_2.parquet'))
    expect(namesOf(await listCryoFiles(folder))).toEqual([[], []])
  })

  test('of a size that no file may have are listed: their columns are refused', async () => {
    await withFiles('ethereum__logs__1_to_2.parquet')
    await truncate(join(folder, 'ethereum__logs__1_to_2.parquet'), 2 ** 40)
    expect((await listCryoFiles(folder)).logs[0]?.bytes).toBe(2 ** 40)
  })
})

describe('a folder is refused', () => {
  test('that is not there', async () => {
    await expect(listCryoFiles(join(folder, 'other'))).rejects.toThrow(/--files: the folder \S+ cannot be read: ENOENT/)
  })

  test('that is a file', async () => {
    await writeFile(join(folder, 'x'), '')
    await expect(listCryoFiles(join(folder, 'x'))).rejects.toThrow(/cannot be read: ENOTDIR/)
  })

  // Root may read all folders.
  test.skipIf(process.getuid?.() === 0)('with a subfolder that cannot be read', async () => {
    await mkdir(join(folder, 'closed'), { mode: 0 })
    await expect(listCryoFiles(folder)).rejects.toThrow(/cannot be read: EACCES/)
  })

  test('with a link to a file that is not there', async () => {
    await symlink('/nowhere', join(folder, 'ethereum__logs__1_to_2.parquet'))
    await expect(listCryoFiles(folder)).rejects.toThrow(/--files: ENOENT.*ethereum__logs__1_to_2\.parquet/)
  })

  test('without files of cryo', async () => {
    expect(rangeOfFiles.bind(undefined, await withFiles('logs.parquet'))).toThrow(
      `--files: ${folder} has no files named as cryo names them, such as ethereum__logs__`,
    )
  })

  test('whose files overlap', async () => {
    await expect(withFiles('ethereum__logs__1_to_10.parquet', 'ethereum__logs__10_to_20.parquet')).rejects.toThrow(
      'ethereum__logs__1_to_10.parquet and ethereum__logs__10_to_20.parquet have the same blocks: remove one',
    )
  })

  test('that has files of two networks', async () => {
    await expect(withFiles('ethereum__logs__1_to_10.parquet', 'polygon__logs__1_to_10.parquet')).rejects.toThrow(
      'have the same blocks: remove one of them.',
    )
  })

  test('with a file that ends before it begins', async () => {
    await expect(withFiles('ethereum__logs__10_to_9.parquet')).rejects.toThrow('ends before it begins, by its name.')
  })

  test('that lacks blocks: each gap is named with the command that fills it', async () => {
    const files = await withFiles(
      'ethereum__logs__10_to_19.parquet',
      'ethereum__logs__30_to_39.parquet',
      'ethereum__blocks__10_to_39.parquet',
    )
    expect(() => requireWhole(files, { from: 10, to: 39 })).toThrow(
      [
        `--files: ${folder} lacks blocks.`,
        `No file has the logs of blocks 20 to 29: cryo logs --blocks 20:30 --output-dir ${folder} --rpc URL`,
      ].join('\n'),
    )
    expect(() => requireWhole(files, { from: 9, to: 40 })).toThrow(
      [
        `No file has the headers of block 9: cryo blocks --blocks 9:10 --include-columns parent_hash logs_bloom --output-dir ${folder} --rpc URL`,
        `No file has the headers of block 40: cryo blocks --blocks 40:41 `,
      ].join('\n'),
    )
    expect(() => requireWhole(files, { from: 12, to: 19 })).not.toThrow()
  })
})

test('files overlap a range with their first and their last block', async () => {
  const { logs } = await withFiles('ethereum__logs__10_to_19.parquet', 'ethereum__logs__20_to_29.parquet')
  const found = (from: number, to: number) => overlapping(logs, { from, to }).map((file) => file.from)
  expect([found(0, 9), found(0, 10), found(19, 20), found(29, 29), found(30, 40)]).toEqual([
    [],
    [10],
    [10, 20],
    [20],
    [],
  ])
})

test('names reach no terminal with control characters, nor with lines of their own', async () => {
  const { logs } = await withFiles('\u001b]0;owned\u0007\nDone.__logs__1_to_2.parquet')
  expect(logs[0]?.name).toBe('\\u001b]0;owned\\u0007 Done.__logs__1_to_2.parquet')
  expect(printable(logs[0]?.name ?? '')).toBe(logs[0]?.name)
  await expect(listCryoFiles(join(folder, '\u001b[2J\n'))).rejects.toThrow(/^[ -~]+$/)
})

test.each([
  ['./cryo', './cryo'],
  ['my files', "'my files'"],
  ["it's; rm -rf ~", "'it'\\''s; rm -rf ~'"],
])('a shell takes the folder %s of a command as one word', (name, word) => {
  expect(cryoCommand('logs', { from: 1, to: 2 }, name)).toBe(`cryo logs --blocks 1:3 --output-dir ${word} --rpc URL`)
})
