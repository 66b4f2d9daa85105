import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { copyOf, isHexText, nibblesIn, RepeatedBytes, RepeatedHex } from '../../../ingest/lib/hex-bytes.ts'
import { seeded } from '../../support/seed.ts'

const viewOf = (bytes: Buffer) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
const isHex = (bytes: Buffer) => isHexText(viewOf(bytes), 0, bytes.length)

describe('a text of hex', () => {
  test('has lower-case digits alone, at each place and whatever is beside it', () => {
    const digits = '09afb7'
    for (let code = 0; code < 256; code++)
      for (let at = 0; at < 9; at++)
        for (const others of digits) {
          const bytes = Buffer.alloc(9, others)
          bytes[at] = code
          const expected = /[0-9a-f]/.test(String.fromCharCode(code))
          if (isHex(bytes) !== expected) expect({ code, at, others }).toBe(expected)
        }
  })

  test('is told from any other bytes', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ minLength: 4, maxLength: 40 }),
      fc.array(fc.constantFrom(...Buffer.from('0123456789abcdef:/@`gAF')), { minLength: 4, maxLength: 12 }),
    )
    fc.assert(
      fc.property(bytes, (some) => {
        const text = Buffer.from(some)
        expect(isHex(text)).toBe(/^[0-9a-f]*$/.test(text.toString('latin1')))
      }),
      seeded({ numRuns: 5_000 }),
    )
  })

  test('has the values of its digits', () => {
    for (const text of ['0123', '4567', '89ab', 'cdef'])
      expect(nibblesIn(Buffer.from(text).readInt32LE()) >>> 0).toBe(
        [...text].reduceRight((sum, digit) => sum * 256 + Number.parseInt(digit, 16), 0),
      )
  })
})

describe('texts that repeat', () => {
  test('are read as they are written, however many there are', () => {
    const texts = new RepeatedHex(64)
    const hex = (value: number) =>
      `0x${BigInt(value * 2_654_435_761)
        .toString(16)
        .padStart(64, '0')}`
    for (let round = 0; round < 2; round++)
      for (let value = 0; value < 20_000; value++) {
        const bytes = Buffer.from(`"${hex(value)}"`)
        if (texts.read(bytes, viewOf(bytes), 3) !== hex(value)) expect.unreachable(`${round}, ${value}`)
      }
  })

  test('are made of their bytes, however many there are', () => {
    const texts = new RepeatedBytes(20)
    for (let round = 0; round < 2; round++)
      for (let value = 0; value < 20_000; value++) {
        const bytes = Buffer.alloc(24)
        bytes.writeUInt32BE(value, 2 + 4 * (value % 5))
        if (texts.read(bytes, viewOf(bytes), 2) !== `0x${bytes.toString('hex', 2, 22)}`)
          expect.unreachable(`${round}, ${value}`)
      }
  })

  test('are none where a digit is another character', () => {
    const texts = new RepeatedHex(40)
    const sound = `0x${'ab'.repeat(20)}`
    for (const text of [sound, sound.replace('b', 'B'), sound.slice(0, -1), `${sound.slice(0, -1)}g`]) {
      const bytes = Buffer.from(`${text}"`)
      expect(texts.read(bytes, viewOf(bytes), 2)).toBe(text === sound ? sound : undefined)
    }
  })
})

test('a copy is the same text', () => {
  const text = `0x${'ab'.repeat(40)}`
  expect(copyOf(text.slice(2, 60))).toBe(text.slice(2, 60))
})
