/** Zstandard (RFC 8878), which Node has from 22.15 on. */
import { Decompress } from 'fzstd'

/** The unpacked bytes are more than the reader takes. */
export class TooLong extends Error {
  override readonly name = 'TooLong'
}

/** The limit of the content encoding (RFC 9659). */
const MAX_WINDOW_BYTES = 8 * 1024 * 1024
/** 64 MiB in pieces of 32 KiB. Each block costs a copy of the window. */
const MAX_BLOCKS = 2_048

export function unpackZstd(packed: Buffer, maxBytes: number): Buffer {
  checkFrames(packed)
  const pieces: Uint8Array[] = []
  let size = 0
  const stream = new Decompress((piece) => {
    size += piece.length
    if (size > maxBytes) throw new TooLong()
    pieces.push(piece)
  })
  stream.push(packed, true)
  return Buffer.concat(pieces)
}

/** Throws where a frame asks for more memory or time than an honest one. */
function checkFrames(packed: Buffer): void {
  let blocks = 0
  for (let at = 0; at < packed.length; ) {
    const magic = packed.readUInt32LE(at)
    if (magic >>> 4 === 0x184d2a5) {
      at += 8 + packed.readUInt32LE(at + 4)
      continue
    }
    if (magic !== 0xfd2fb528) throw new Error('The answer is no Zstandard frame.')
    const descriptor = packed.readUInt8(at + 4)
    const { length, windowBytes } = frameHeader(packed, at, descriptor)
    if (windowBytes > MAX_WINDOW_BYTES) throw new Error(`The answer has a Zstandard window of ${windowBytes} bytes.`)
    at += length
    for (let isLast = false; !isLast; ) {
      if (++blocks > MAX_BLOCKS) throw new Error(`The answer has more than ${MAX_BLOCKS} Zstandard blocks.`)
      const header = packed.readUIntLE(at, 3)
      isLast = (header & 1) === 1
      const isRepeated = ((header >> 1) & 3) === 1
      at += 3 + (isRepeated ? 1 : header >> 3)
    }
    const hasChecksum = (descriptor & 4) !== 0
    if (hasChecksum) at += 4
  }
}

function frameHeader(packed: Buffer, at: number, descriptor: number): { length: number; windowBytes: number } {
  const isSingle = (descriptor & 32) !== 0
  const idBytes = [0, 1, 2, 4][descriptor & 3] ?? 0
  const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0
  const sizeAt = at + 5 + (isSingle ? 0 : 1) + idBytes
  if (isSingle) return { length: sizeAt + sizeBytes - at, windowBytes: sizeIn(packed, sizeAt, sizeBytes) }
  const window = packed.readUInt8(at + 5)
  const base = 2 ** (10 + (window >> 3))
  return { length: sizeAt + sizeBytes - at, windowBytes: base + (base / 8) * (window & 7) }
}

function sizeIn(packed: Buffer, at: number, bytes: number): number {
  if (bytes === 8) return Number(packed.readBigUInt64LE(at))
  return packed.readUIntLE(at, bytes) + (bytes === 2 ? 256 : 0)
}
