/** A command that was called wrongly: the message is all there is to say. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
