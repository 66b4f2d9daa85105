/** Messages that the tables can't hold. */
import type { Entry, TickLog } from '../ingest/log.ts'
import type { Message, Restatement } from '../ingest/message.ts'
import type { AggregateOptions } from './aggregate.ts'
import { faultOf } from './storable.ts'

/** Sets aside what the tables can't hold; what comes after it does not connect, and is sent again. */
export async function isRejected<M extends Message | Restatement>(
  { network, report }: AggregateOptions,
  log: TickLog<M>,
  { message, offset }: Entry<M>,
): Promise<boolean> {
  const reason = faultOf(message, network)
  if (reason === undefined) return false
  report({ kind: 'message-rejected', network, offset, reason })
  await log.reject?.(offset, reason)
  return true
}
