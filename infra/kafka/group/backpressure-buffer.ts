/** A buffer between the Kafka client, which pushes, and the reader, which pulls: batches that arrive during a read are merged. */

export type BackpressureBuffer<T> = {
  /** Resolves at once with true where there is room, else when there is or after the given time. */
  room(milliseconds: number): Promise<boolean>
  /** Only where there is room. */
  put(value: T): void
  /** Resolves with undefined once the buffer is closed, rejects once it has failed. */
  take(): Promise<T | undefined>
  /** Discards the buffered value. */
  fail(error: Error): void
  close(): void
}

export type BackpressureBufferOptions<T> = { merge(earlier: T, later: T): T; isFull(value: T): boolean }

export function backpressureBuffer<T>({ merge, isFull }: BackpressureBufferOptions<T>): BackpressureBuffer<T> {
  let buffered: { value: T } | undefined
  let end: { error: Error | undefined } | undefined
  let wakeTaker = () => {}
  let wakePutter = () => {}

  function finish(error: Error | undefined): void {
    end ??= { error }
    buffered = undefined
    wakeTaker()
    wakePutter()
  }

  function hasRoom(): boolean {
    return !buffered || !isFull(buffered.value)
  }

  return {
    async room(milliseconds) {
      if (!hasRoom()) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, milliseconds)
          wakePutter = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      return hasRoom() && !end
    },
    put(value) {
      if (end) return
      buffered = { value: buffered ? merge(buffered.value, value) : value }
      wakeTaker()
    },
    async take() {
      while (!buffered && !end) {
        await new Promise<void>((resolve) => {
          wakeTaker = resolve
        })
      }
      if (end?.error) throw end.error
      const value = buffered?.value
      buffered = undefined
      wakePutter()
      return value
    },
    fail: finish,
    close: () => finish(undefined),
  }
}
