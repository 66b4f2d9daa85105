/** Reject: messages that the tables cannot hold are set aside. */

import type { Message, RangeOverwrite } from '../../ingest/model/message.ts'
import type { Entry, TickLog } from '../../ingest/model/tick-log.ts'
import type { AggregateOptions } from './aggregate-options.ts'
import { validateMessage } from './validate-message.ts'

/** True where it was set aside. Messages after it become orphans, and the listener sends them again. */
export async function rejectIfInvalid<M extends Message | RangeOverwrite>(
  { network, report }: AggregateOptions,
  log: TickLog<M>,
  { message, offset }: Entry<M>,
): Promise<boolean> {
  const reason = validateMessage(message, network)
  if (reason === undefined) return false
  report({ kind: 'message-rejected', network, offset, reason })
  await log.reject?.(offset, reason)
  return true
}
