/** Memory that one piece of work leaves to the next. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ColumnMemory } from '../../../ingest/columns/column-memory.ts'

const LENGTH = 100_000

afterEach(() => {
  vi.useRealTimers()
})

describe('memory of columns', () => {
  test('memory is used again after its release, as zeros', () => {
    const first = new ColumnMemory()
    const used = first.float64(LENGTH).fill(7)
    first.release()
    const again = new ColumnMemory().float64(LENGTH - 1)
    expect(again.buffer).toBe(used.buffer)
    expect(again).toHaveLength(LENGTH - 1)
    expect(again.every((value) => value === 0)).toBe(true)
  })

  test('memory is not shared before its release', () => {
    const [one, other] = [new ColumnMemory(), new ColumnMemory()]
    const arrays = [
      one.uint32(LENGTH),
      one.uint32(LENGTH),
      other.uint32(LENGTH),
      other.int32(LENGTH),
      other.bytes(LENGTH),
    ]
    expect(new Set(arrays.map(({ buffer }) => buffer)).size).toBe(arrays.length)
    one.release()
    other.release()
    one.release()
    const after = new ColumnMemory()
    const later = arrays.map(() => after.uint32(LENGTH))
    expect(new Set(later.map(({ buffer }) => buffer)).size).toBe(later.length)
  })

  test('free memory is bounded, and a process that needs none has none', async () => {
    const big = 2 ** 22
    const memory = new ColumnMemory()
    const buffers = new Set(Array.from({ length: 40 }, () => memory.float64(big).buffer))
    memory.release()
    const reused = () => Array.from({ length: 40 }, () => new ColumnMemory().float64(big).buffer)
    const { length } = reused().filter((buffer) => buffers.has(buffer))
    expect(length).toBeGreaterThan(1)
    // Of 32 MiB each.
    expect(length).toBeLessThanOrEqual(6)
    const last = new ColumnMemory()
    const { buffer } = last.float64(big)
    vi.useFakeTimers()
    last.release()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(new ColumnMemory().float64(big).buffer).not.toBe(buffer)
  })
})
