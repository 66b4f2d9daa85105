/** A limit on how many calls of a function are under way. */

/** `run`, at most `most` at once; later calls wait in order. */
export function inFlight<Input, Result>(
  most: number,
  run: (input: Input) => Promise<Result>,
): (input: Input) => Promise<Result> {
  const waiting: (() => void)[] = []
  let running = 0
  return async (input) => {
    if (running === most) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await run(input)
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
