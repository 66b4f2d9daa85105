/** An error and its causes in one line. */
import { redactAddresses } from '../config/secrets.ts'

/** The messages along the chain of causes, each once. */
export function describeError(error: unknown): string {
  const messages: string[] = []
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { shortMessage, details } = cause as Error & { shortMessage?: string; details?: string }
    const message = shortMessage ? [shortMessage, details].filter(Boolean).join(' ') : cause.message
    if (!messages.some((known) => known.includes(message))) messages.push(message)
  }
  return redactAddresses(messages.join(': ') || String(error))
}
