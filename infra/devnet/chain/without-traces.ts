/** Cuts the call traces out of anvil's state as it streams by: a state of hundreds of megabytes is never in memory. */

const KEY = Buffer.from('"traces":[')
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENING = new Set([0x5b, 0x7b])
const CLOSING = new Set([0x5d, 0x7d])

/** The same JSON with every array named `traces` empty. Anvil writes no blanks between tokens. */
export async function* withoutTraces(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let depth = 0
  let inString = false
  let escaped = false
  let rest: Buffer = Buffer.alloc(0)

  /** The index at which the open array ends, or the length of the bytes if it ends in a later chunk. */
  function skip(bytes: Buffer): number {
    for (let index = 0; index < bytes.length; index += 1) {
      const byte = bytes[index] ?? 0
      if (inString) {
        if (escaped) escaped = false
        else if (byte === BACKSLASH) escaped = true
        else if (byte === QUOTE) inString = false
      } else if (byte === QUOTE) inString = true
      else if (OPENING.has(byte)) depth += 1
      else if (CLOSING.has(byte)) {
        depth -= 1
        if (depth === 0) return index
      }
    }
    return bytes.length
  }

  for await (const chunk of chunks) {
    let bytes = Buffer.concat([rest, chunk])
    const kept: Buffer[] = []
    for (;;) {
      if (depth > 0) {
        bytes = bytes.subarray(skip(bytes))
        if (depth > 0) break
      }
      const found = bytes.indexOf(KEY)
      // A key may be cut in two by the end of the chunk.
      const end = found === -1 ? Math.max(0, bytes.length - KEY.length + 1) : found + KEY.length
      kept.push(bytes.subarray(0, end))
      bytes = bytes.subarray(end)
      if (found === -1) break
      depth = 1
    }
    rest = bytes
    yield Buffer.concat(kept)
  }
  yield rest
}
