/**
 * Memory of columns that is used again. V8 counts arrays outside of its heap, and marks the whole heap whenever some 64 MB of them are new: that took
 * a third of the processor time of a flush.
 */

export type ColumnAllocator = {
  /** Zeros, as all of these. */
  bytes(length: number): Uint8Array
  int32(length: number): Int32Array
  uint32(length: number): Uint32Array
  float64(length: number): Float64Array
}

export const NEW_MEMORY: ColumnAllocator = {
  bytes: (length) => new Uint8Array(length),
  int32: (length) => new Int32Array(length),
  uint32: (length) => new Uint32Array(length),
  float64: (length) => new Float64Array(length),
}

/** Smaller arrays are left to V8. */
const MIN_BYTES = 64 * 1024
/** Two of the largest flushes, one folded while the other is stored, take 176 MiB: with less, each of them leaves some to V8. */
const MAX_FREE_BYTES = 192 * 1024 * 1024

/** By size: between a power of two and the next there are four. */
const free = new Map<number, ArrayBuffer[]>()
let freeBytes = 0

/** A process that no longer reads history has other uses for the memory. */
const FREE_MS = 10_000
let clearing: NodeJS.Timeout | undefined

function clearLater(): void {
  clearTimeout(clearing)
  clearing = setTimeout(() => {
    free.clear()
    freeBytes = 0
  }, FREE_MS).unref()
}

/** The arrays of one piece of work, of which `release` makes those of later ones. */
export class ColumnMemory implements ColumnAllocator {
  #taken: ArrayBuffer[] = []

  bytes(length: number): Uint8Array {
    return new Uint8Array(this.#take(length), 0, length)
  }

  int32(length: number): Int32Array {
    return new Int32Array(this.#take(length * Int32Array.BYTES_PER_ELEMENT), 0, length)
  }

  uint32(length: number): Uint32Array {
    return new Uint32Array(this.#take(length * Uint32Array.BYTES_PER_ELEMENT), 0, length)
  }

  float64(length: number): Float64Array {
    return new Float64Array(this.#take(length * Float64Array.BYTES_PER_ELEMENT), 0, length)
  }

  /** Call it only once nothing reads the arrays any more, a statement that has failed included: it may still be sent. */
  release(): void {
    for (const buffer of this.#taken) {
      if (freeBytes + buffer.byteLength > MAX_FREE_BYTES) continue
      freeBytes += buffer.byteLength
      const ofSize = free.get(buffer.byteLength)
      if (ofSize) ofSize.push(buffer)
      else free.set(buffer.byteLength, [buffer])
    }
    if (this.#taken.length > 0) clearLater()
    this.#taken = []
  }

  #take(bytes: number): ArrayBuffer {
    if (bytes < MIN_BYTES) return new ArrayBuffer(bytes)
    const step = 2 ** (Math.ceil(Math.log2(bytes)) - 3)
    const size = Math.ceil(bytes / step) * step
    const known = free.get(size)?.pop()
    if (known) {
      freeBytes -= size
      new Uint8Array(known, 0, bytes).fill(0)
    }
    const buffer = known ?? new ArrayBuffer(size)
    this.#taken.push(buffer)
    return buffer
  }
}
