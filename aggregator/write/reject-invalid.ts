/** Reject: messages that the tables cannot hold are set aside. */

import type { Message, RangeOverwrite } from '../../ingest/model/message.ts'
import type { Entry, Offset, TickLog } from '../../ingest/model/tick-log.ts'
import type { AggregateOptions } from './aggregate-options.ts'
import { validateMessage } from './validate-message.ts'

/** True where it was set aside. Messages after it become orphans, and the listener sends them again. */
export async function rejectIfInvalid<M extends Message | RangeOverwrite>(
  options: AggregateOptions,
  log: TickLog<M>,
  { message, offset }: Entry<M>,
): Promise<boolean> {
  const reason = validateMessage(message, options.network)
  if (reason === undefined) return false
  await reject(options, log, offset, reason)
  return true
}

/** Sets a message aside: it is copied to the quarantine where the log keeps messages. */
export async function reject(
  { network, report }: Pick<AggregateOptions, 'network' | 'report'>,
  log: Pick<TickLog, 'reject'>,
  offset: Offset,
  reason: string,
): Promise<void> {
  report({ kind: 'message-rejected', network, offset, reason })
  await log.reject?.(offset, reason)
}
