/** A header's bloom: never “none” for a block that has a matching log. */
import fc from 'fast-check'
import { bytesToHex, type Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { bitsOf, bloomVerdict } from '../../../ingest/proof/bloom.ts'

/** From the tests of go-ethereum and ethereumjs: a bloom with this address in it. */
const KNOWN = {
  address: '0xef2d6d194084c2de36e0dabfce45d046b37d1106',
  topic: '0x02c69be41d0b7e40352fc85be1cd65eb03d40ef8427a0ca4596b1ead9a00e9fc',
} as const

function bloomOf(values: readonly Hex[]): Hex {
  const bloom = new Uint8Array(256)
  for (const bit of values.flatMap(bitsOf)) bloom[255 - (bit >> 3)] = (bloom[255 - (bit >> 3)] ?? 0) | (1 << (bit & 7))
  return bytesToHex(bloom)
}

/** With exactly these bits set. */
function withBits(...bits: number[]): Hex {
  let value = 0n
  for (const bit of bits) value |= 1n << BigInt(bit)
  return `0x${value.toString(16).padStart(512, '0')}`
}

const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((it) => bytesToHex(it))

describe('a bloom', () => {
  test('has the bits that the Yellow Paper says, counted from its end', () => {
    const bits = bitsOf(KNOWN.address)
    expect(bloomOf([KNOWN.address])).toBe(withBits(...bits))
    const filter = { topics: [null], address: [KNOWN.address] }
    expect(bloomVerdict(withBits(...bits), filter)).toBe('maybe')
    expect(bloomVerdict(withBits(...bits.slice(1)), filter)).toBe('none')
  })

  test('is never “none” for a log that matches', () => {
    fc.assert(
      fc.property(hex(20), hex(32), fc.array(hex(32), { maxLength: 20 }), (address, topic, others) => {
        const bloom = bloomOf([address, topic, ...others])
        expect(bloomVerdict(bloom, { topics: [[topic, KNOWN.topic]], address: [address] })).toBe('maybe')
        expect(bloomVerdict(bloom, { topics: [[topic]] })).toBe('maybe')
      }),
    )
  })

  test('is “none” where only the address is there, or only the topic', () => {
    const filter = { topics: [[KNOWN.topic]], address: [KNOWN.address] }
    expect(bloomVerdict(bloomOf([KNOWN.address]), filter)).toBe('none')
    expect(bloomVerdict(bloomOf([KNOWN.topic]), filter)).toBe('none')
  })

  test.each([[undefined], ['0x'], [`0x${'0'.repeat(512)}`]] as const)(
    'is unknown where the node gives none: %#',
    (bloom) => {
      expect(bloomVerdict(bloom, { topics: [[KNOWN.topic]] })).toBe('unknown')
    },
  )
})
