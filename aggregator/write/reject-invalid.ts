/** Messages that the tables can't hold. */

import type { Message, RangeOverwrite } from '../../ingest/model/message.ts'
import type { Entry, TickLog } from '../../ingest/model/tick-log.ts'
import type { AggregateOptions } from './aggregate-options.ts'
import { validateMessage } from './validate-message.ts'

/** Sets aside what the tables can't hold; what comes after it does not connect, and is sent again. */
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
