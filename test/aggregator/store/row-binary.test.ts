import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RowBinary } from '../../../aggregator/store/row-binary.ts'
import { seeded } from '../../support/seed.ts'

const MiB = 1024 * 1024
const hex = (rows: RowBinary) => rows.bytes.toString('hex')

describe('RowBinary', () => {
  test('nothing written is no bytes', () => {
    expect(hex(new RowBinary())).toBe('')
  })

  test('columns stand one after the other, little-endian, without separators', () => {
    const rows = new RowBinary().uint8(0xab).uint32(1).int32(-2).uint64(3n).uint64(4)
    expect(hex(rows)).toBe('ab' + '01000000' + 'feffffff' + '0300000000000000' + '0400000000000000')
  })

  test('a wide integer is two’s complement, for every value that fits signed or unsigned', () => {
    const bits = fc.constantFrom<128 | 256>(128, 256)
    const value = bits.chain((width) =>
      fc.tuple(fc.constant(width), fc.bigInt({ min: -(2n ** BigInt(width - 1)), max: 2n ** BigInt(width) - 1n })),
    )
    fc.assert(
      fc.property(value, ([width, written]) => {
        const bytes = new RowBinary().integer(written, width).bytes
        const read = BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
        expect(bytes).toHaveLength(width / 8)
        expect(read).toBe(BigInt.asUintN(width, written))
      }),
      seeded(),
    )
  })

  test('a number has the bits that it had in memory', () => {
    fc.assert(
      fc.property(fc.double(), (value) => {
        expect(new RowBinary().float64(value).bytes.readDoubleLE()).toBe(value)
      }),
      seeded(),
    )
  })

  test('a string is its length in bytes, seven bits at a time, then UTF-8', () => {
    expect(hex(new RowBinary().string('Ü₮'))).toBe('05' + 'c39c' + 'e282ae')
    expect(hex(new RowBinary().string('x'.repeat(127))).slice(0, 4)).toBe('7f78')
    expect(hex(new RowBinary().string('x'.repeat(128))).slice(0, 6)).toBe('800178')
    expect(hex(new RowBinary().string('x'.repeat(16_384))).slice(0, 8)).toBe('80800178')
  })

  test('a hash is its 32 bytes in reading order', () => {
    const hash =
      `0x${Array.from({ length: 32 }, (_, index) => (index + 1).toString(16).padStart(2, '0')).join('')}` as const
    expect(hex(new RowBinary().hash(hash))).toBe(hash.slice(2))
  })

  test.each([
    '0x',
    `0x${'ab'.repeat(31)}`,
    `0x${'ab'.repeat(33)}`,
    `0x${'ab'.repeat(32)}c`,
    `0x${'zz'.repeat(32)}`,
  ] as const)('%s is no hash, wherever in the buffer it would stand', (text) => {
    expect(() => new RowBinary().hash(text)).toThrow('is not a hash of 32 bytes')
    const nearlyFull = new RowBinary()
    for (let left = 64 * 1024 - 32; left > 0; left -= 32) nearlyFull.integer(0n, 256)
    expect(() => nearlyFull.hash(text)).toThrow('is not a hash of 32 bytes')
  })

  test('written bytes stay as the buffer grows', () => {
    const parts = fc.array(fc.string({ unit: 'binary', maxLength: 5_000, size: 'max' }), { maxLength: 40 })
    fc.assert(
      fc.property(parts, (texts) => {
        const rows = new RowBinary()
        for (const text of texts) rows.uint32(text.length).string(text)
        const pieces = texts.flatMap((text) => {
          const one = new RowBinary().uint32(text.length).string(text)
          return [one.bytes]
        })
        expect(rows.bytes.equals(Buffer.concat(pieces))).toBe(true)
      }),
      seeded({ numRuns: 10 }),
    )
  })

  test('a recycled buffer is overwritten, and no other bytes are', () => {
    const filled = (value: bigint) => {
      const rows = new RowBinary()
      for (let bytes = 0; bytes < 5 * MiB; bytes += 32) rows.integer(value, 256)
      return rows
    }
    const [gone, kept] = [filled(1n), filled(2n)]
    const first = gone.chunks.findLast(({ length }) => length === MiB)
    gone.recycle()
    expect(gone.chunks).toEqual([])
    const later = [filled(3n), gone.integer(4n, 256)]
    const memory = later.flatMap(({ chunks }) => chunks.map(({ buffer }) => buffer))
    expect(memory.includes(first?.buffer ?? new ArrayBuffer(0))).toBe(true)
    for (const [rows, value] of [
      [kept, 2n],
      [later[0], 3n],
    ] as const)
      expect(rows?.bytes.equals(Buffer.alloc(5 * MiB, new RowBinary().integer(value, 256).bytes))).toBe(true)
    expect(gone.bytes.equals(new RowBinary().integer(4n, 256).bytes)).toBe(true)
  })
})
