/** The many ways in which a node says that it was asked for too many logs at once. */

const TOO_LARGE = /range|too many|more than|exceed|too large|too big|limit|response size|timed? ?out/i

/** Whether the node wants a smaller range; the text decides, since error codes mean something else at every provider. */
export function isTooLarge(error: unknown): boolean {
  const texts: string[] = []
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    texts.push('details' in cause && typeof cause.details === 'string' ? cause.details : cause.message)
  }
  const text = texts.join('\n')
  return TOO_LARGE.test(text) && !/rate|429|too many requests|per second/i.test(text)
}
